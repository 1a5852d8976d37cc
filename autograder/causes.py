"""What each cause means to a learner: one sentence to act on, and the part of a chapter to read.

Data, and the address it leads to. The names are an interface (contract of the course); the words
are not.
"""

from dataclasses import dataclass
from pathlib import Path

BOOK = Path(__file__).resolve().parent.parent / "book"


@dataclass(frozen=True)
class Cause:
    """`advice` says what to do; `topic` is the label of a chapter's section, without chapter.

    `plain` is the advice for steps without a kernel, where another is needed.
    """

    advice: str
    topic: str
    plain: str = ""


CAUSES = {
    "not_implemented": Cause(
        "Replace `raise NotImplementedError` by your kernel; the comments above it say what goes "
        "where, and the hints of the step open one by one.",
        "start",
        "Replace `raise NotImplementedError` by your code; the comments above it say what is asked, "
        "and the hints of the step open one by one.",
    ),
    "library_call": Cause(
        "Compute the result in your own Triton kernel, for every shape. Allocation, views, casts, "
        "copies and padding around it are fine; an operator or NumPy that does the work is not.",
        "output",
        "Write the sum of products out in loops of your own. Adding, multiplying and slicing tensors "
        "is fine; `@`, `torch.matmul` and what else multiplies matrices is not, nor is NumPy.",
    ),
    "timed_out": Cause(
        "Look for a loop whose counter or bound never changes, or a grid with far more programs "
        "than there are tiles.",
        "grid",
        "Look for a loop whose counter or bound never changes.",
    ),
    "crashed": Cause(
        "Read the message above from its end: the line it names is the place to look. Run the "
        "function on a small example in a cell of its own to see the same error.",
        "start",
    ),
    "not_python": Cause(
        "Python cannot read this, so nothing of it ran. Look at the place that the message names, and "
        "at the line before: a bracket or a quote that is not closed, a colon that is missing, a line "
        "that is indented differently.",
        "start",
    ),
    "not_defined": Cause(
        "The grader looks for a function of exactly this name, defined at the top of a cell or a "
        "file: not renamed, and not inside another function.",
        "start",
    ),
    "nothing_returned": Cause(
        "Does the wrapper end with `return out`? It must return one tensor: no list, no tuple, and "
        "not what a launch returns, which is nothing.",
        "output",
    ),
    "device_forgotten": Cause(
        "Allocate where the inputs are: `torch.empty(shape, dtype=x.dtype, device=x.device)` or "
        "`torch.empty_like(x)`. Without `device` the tensor is on the CPU, where no GPU can write.",
        "output",
    ),
    "grid_missing": Cause(
        "A kernel is launched with a grid in brackets, then its arguments: `kernel[(programs,)](x, "
        "out, n, BLOCK=1024)`. The grid is a tuple, also where it has one entry.",
        "programs",
    ),
    "jit_missing": Cause(
        "Write `@triton.jit` in the line above the kernel's `def`: only then can it be launched with a "
        "grid.",
        "programs",
    ),
    "not_in_interpreter": Cause(
        "Triton's interpreter lacks what is used there, although a GPU may have it. Functions of `tl` "
        "work in both: `tl.exp(x)` in place of `x.exp()`, `tl.erf(x)` in place of `libdevice.erf(x)`.",
        "programs",
    ),
    "does_not_compile": Cause(
        "A GPU's compiler accepts less than the interpreter: sides of tiles are powers of two known "
        "when the kernel is compiled, values from outside come in as arguments, and a variable "
        "keeps its shape and type through a loop.",
        "programs",
    ),
    "shared_memory_exceeded": Cause(
        "A pipelined loop keeps `num_stages` tiles of each operand in shared memory at once. Use "
        "smaller tiles, or pass a smaller `num_stages` at the launch.",
        "programs",
    ),
    "tf32_where_fp32_promised": Cause(
        "On a GPU `tl.dot` cuts float32 tiles to TF32 unless told otherwise: pass "
        '`input_precision="ieee"`. Write a sum of products as `tl.dot` as well, since the compiler '
        "may turn it into one.",
        "tf32",
    ),
    "rounding_wrong": Cause(
        "TF32 keeps 10 of the 23 bits of fraction, so the lowest 13 of the 32 bits go. To round to the "
        "nearest, add half of the last bit that stays before you cut: 0xFFF, and 1 more if that bit is "
        "set, which sends ties to even. In a product round both operands, and neither sum nor result.",
        "formats",
    ),
    "tolerance_not_scaled": Cause(
        "The allowed error must grow and shrink with the numbers that are summed: with |A|·|B|, the "
        "product of the absolute values, and with nothing fixed. |A·B| is no measure of it, since a sum "
        "can be near zero while its terms, and their errors, are not.",
        "tolerance",
    ),
    "tolerance_too_tight": Cause(
        "A right result is refused. Sums of K float32 products may be off by some √K times 2⁻²⁴ of "
        "|A|·|B|; and where the result is stored in c's type, by half a unit in the last place of the "
        "result itself: u·|A·B|, with u = 2⁻¹¹ for float16.",
        "tolerance",
    ),
    "tolerance_too_loose": Cause(
        "A wrong result is accepted. Take the unit roundoff of c's own type for the storing, and that of "
        "float32 for the sum; a tolerance made for float16 sees nothing in float32.",
        "tolerance",
    ),
    "elements_averaged": Cause(
        "One wrong element hides among right ones. Compare each element with its own bound; a mean, a "
        "norm or the largest number of the matrix mixes them.",
        "tolerance",
    ),
    "nan_accepted": Cause(
        "Every comparison with NaN is false, `error > bound` as well. Ask whether all errors are inside, "
        "`(error <= bound).all()`, and not whether any is outside.",
        "tolerance",
    ),
    "bitcast_missing": Cause(
        "`x.to(tl.uint32)` converts the number: 2.7 becomes 2. To look at the bits of a float, and to go "
        "back, use `x.to(tl.uint32, bitcast=True)` and `bits.to(tl.float32, bitcast=True)`.",
        "formats",
    ),
    "offset_overflow": Cause(
        "Offsets past 2³¹ wrap around in 32 bits. Make the index 64-bit before it is multiplied by "
        "a stride: `rows.to(tl.int64) * stride`.",
        "int64",
    ),
    "wild_address": Cause(
        "The address has nothing to do with any tensor given to the kernel. Print the offsets of one "
        "program, and check that a pointer is only ever moved by elements, not by bytes or addresses.",
        "pointer-grids",
    ),
    "wrong_dtype": Cause(
        "Allocate the result with the dtype that the step asks for, for example "
        "`torch.empty(..., dtype=x.dtype, device=x.device)`; `tl.store` casts to it.",
        "output",
        "Make the result with the dtype that the step asks for: "
        "`torch.zeros(M, N, dtype=torch.float32)`.",
    ),
    "wrong_shape": Cause(
        "Return a new, contiguous tensor of exactly the shape asked for: rows first, then columns.",
        "output",
    ),
    "input_modified": Cause(
        "Write into a newly allocated tensor and return that; check that no store uses the pointer "
        "of an argument.",
        "output",
        "Make a new list, dict or tensor for the result, and leave the arguments as they came.",
    ),
    "wrong_type": Cause(
        "Return exactly the kind of value that the step promises: an int from `//` and not a float "
        "from `/`, a tuple from `return a, b` and not a list, a number and not a tensor.",
        "output",
    ),
    "output_not_written": Cause(
        "Every element of the result must be written by some program. Check that `tl.store` is "
        "reached, that its mask is not always false, and that it uses the output's pointer.",
        "output",
    ),
    "grid_floor": Cause(
        "The last, partial tile has no program. Use `triton.cdiv(n, BLOCK)`, which rounds up, where "
        "the number of programs is computed.",
        "grid",
    ),
    "grid_swapped": Cause(
        "Compare the grid with the kernel: the axis that counts tiles of rows must be the one whose "
        "`program_id` becomes the row of the tile.",
        "grid",
        "Row and column are exchanged: return the row of the tile first, then its column.",
    ),
    "store_mask_missing": Cause(
        "Give `tl.store` a mask that is true only inside the output, such as `offsets < n` or "
        "`(rows < M)[:, None] & (cols < N)[None, :]`: the last tile reaches past the end.",
        "masks",
    ),
    "load_mask_missing": Cause(
        "Give that `tl.load` a mask that is true only inside the tensor: the last tile reaches past "
        "the end, and what lies there is not yours to read.",
        "masks",
    ),
    "masked_other_wrong": Cause(
        "A masked lane must change nothing, and without `other` it is undefined. Say what it must be: "
        "`other=0.0` for a sum or a product, `float('-inf')` for a maximum or before `exp`.",
        "identity",
    ),
    "masked_lanes_not_reset": Cause(
        "A masked lane was 0 when it was loaded, and 0 - mean is not 0. Arithmetic undoes `other`: set "
        "such lanes again, with `tl.where(cols < C, value, 0.0)`, before the next reduction.",
        "identity",
    ),
    "k_tail_unmasked": Cause(
        "Mask both loads along K as well: in the last step only `K - k` columns of A and rows of B "
        "are left, and the rest must be 0.",
        "masks",
    ),
    "k_tail_dropped": Cause(
        "The last, partial tile along K is never added. Loop `for k in range(0, K, BLOCK_K)` or "
        "`range(tl.cdiv(K, BLOCK_K))`, and mask the last step.",
        "k-loop",
        "Every k from 0 to K - 1 belongs to the sum. With blocks, loop `for k0 in range(0, K, "
        "block_size)` and end each block at `min(k0 + block_size, K)`.",
    ),
    "k_loop_missing": Cause(
        "One tile along K is not the whole sum. Loop over K in steps of BLOCK_K and add up.",
        "k-loop",
    ),
    "pointer_not_advanced": Cause(
        "Each step must read the next tile: advance the pointers by BLOCK_K times the stride along "
        "K, or compute the offsets from k. Check both operands.",
        "k-loop",
        "Inside a block, the index along K is the block's first k plus the position in the block. "
        "Check it in both operands.",
    ),
    "accumulator_overwritten": Cause(
        "Add to the accumulator (`acc += tl.dot(a, b)` or `acc = tl.dot(a, b, acc)`); do not assign "
        "the product of one step to it.",
        "accumulator",
        "Add each product to what is there (`+=`); do not assign it, and do not start again at zero in "
        "each block along K.",
    ),
    "accumulator_not_zeroed": Cause(
        "Start the accumulator at zero for every tile, before the loop over K; and where programs add "
        "to the output, allocate it with zeros.",
        "accumulator",
        "Every element of the result is a sum of its own, and begins at zero: `torch.zeros`, not "
        "`torch.empty`, and a running sum that is set to 0 for each element.",
    ),
    "low_precision_accumulator": Cause(
        "Keep the accumulator in float32 (`tl.zeros(..., dtype=tl.float32)`, and no `out_dtype` in "
        "`tl.dot`) and cast once, after the loop: float16 loses the small terms of a long sum.",
        "accumulator",
        "Convert both factors to float32 before they are multiplied (`a[i, k].float()`), and add up in "
        "float32 or in a Python number: 16 bits lose the small terms of a long sum.",
    ),
    "low_precision_input": Cause(
        "float32 inputs were cut to fewer bits on the way. Load and multiply them as they are.",
        "accumulator",
    ),
    "low_precision_output": Cause(
        "The result went through float16 before it was stored as float32. Cast to the output's type "
        "only.",
        "accumulator",
    ),
    "stride_ignored": Cause(
        "Use the strides that the tensor really has (`x.stride(0)`, `x.stride(1)`): a transposed, "
        "sliced or padded view is not laid out row after row.",
        "strides",
    ),
    "strides_swapped": Cause(
        "Two strides are exchanged: the row index goes with stride(0), the column index with "
        "stride(1). Check each operand and the output.",
        "strides",
    ),
    "tile_dimensions_confused": Cause(
        "One dimension stands where another is meant (M for N, rows for columns, or one block size "
        "for another). Write beside each offset which dimension it walks along.",
        "pointer-grids",
        "One dimension stands where another is meant (M for N, rows for columns). Write beside each "
        "index which dimension it walks along: a[i, k] and b[k, j].",
    ),
    "max_not_subtracted": Cause(
        "exp(89) is too large for float32 and exp(-104) is 0. Subtract the maximum of the row from "
        "its entries before `tl.exp`; the quotient stays the same.",
        "stability",
    ),
    "max_not_restored": Cause(
        "Inside the sum the maximum was subtracted, which divides the sum by exp(max). Add the maximum "
        "again after the logarithm, once.",
        "stability",
    ),
    "max_not_per_row": Cause(
        "Each row has its own maximum and its own sum. A reduction of a tile without `axis=1`, or one "
        "that goes on from row to row, mixes the rows.",
        "stability",
    ),
    "exp_needs_float32": Cause(
        "`tl.exp` takes float32. Convert what you load with `.to(tl.float32)`; `tl.store` converts "
        "back to the output's type.",
        "stability",
    ),
    "normaliser_wrong": Cause(
        "Every row must sum to 1: divide exp(x - max) by the sum of exp(x - max) over the same row, "
        "once, and by nothing else.",
        "stability",
    ),
    "variance_wrong": Cause(
        "For each row, over its C columns: mean = sum(x) / C, variance = sum((x - mean)²) / C, result = "
        "(x - mean) / sqrt(variance + eps). The mean of x² minus the square of the mean is the same "
        "number on paper, and has no correct digit left when the mean is large.",
        "stability",
    ),
    "scale_wrong": Cause(
        "A factor in the exponent is missing, doubled or wrong. `tl.exp2(z)` is 2^z: to get exp(z), "
        "multiply z by log2(e) = 1.44269504 first.",
        "stability",
    ),
    "running_max_wrong": Cause(
        "The running maximum is the largest of all entries seen so far. It begins at "
        "`float('-inf')`, each block can only raise it, and the last pass uses its final value.",
        "merge",
    ),
    "rescale_missing": Cause(
        "When a block raises the maximum from m to new_m, what was summed before is in the old unit: "
        "multiply it by exp(m - new_m), with the old m, before the block's own sum is added.",
        "rescale",
    ),
    "empty_block": Cause(
        "While every entry so far is -inf the running maximum is -inf, and -inf - (-inf) is NaN. "
        "Subtract 0 in that case: `tl.where(new_m == float('-inf'), 0.0, new_m)`.",
        "identity",
    ),
    "finite_mask_value": Cause(
        "A finite number stands for minus infinity, and there are entries below it. Use "
        "`float('-inf')`, which is smaller than every number.",
        "identity",
    ),
    "tail_dropped": Cause(
        "The last, partial block of a row is left out. Loop `for start in range(0, C, BLOCK)` and "
        "mask the last turn.",
        "masks",
        "What is left at the end is left out. Round the number of blocks up; in a loop, "
        "`range(0, n, block_size)` reaches the last, partial block, which ends at "
        "`min(start + block_size, n)`.",
    ),
    "padding_counted": Cause(
        "A block at the edge holds only what is left of the matrix: count the elements that exist, "
        "not whole blocks.",
        "masks",
    ),
    "reuse_ignored": Cause(
        "A block is loaded once and used for a whole block of C. An element of A is loaded once for "
        "each column of blocks, not once for each column.",
        "programs",
    ),
    "operand_missing": Cause(
        "Both operands are loaded: count the elements of A and those of B, and nothing of C.",
        "programs",
    ),
    "padded_keys_counted": Cause(
        "A masked load gives keys of 0, and a score of 0 is a score like any other. Set the scores of "
        "keys past the end to `float('-inf')` before the maximum and the powers are taken.",
        "masks",
    ),
    "causal_mask_wrong": Cause(
        "Compare which keys each query sees with the definition: query i sees key j where "
        "j <= i + Nk - Nq, its own position included. Hidden scores become `float('-inf')` before the "
        "softmax, and a loop that skips blocks must still reach the one on the diagonal.",
        "causal",
    ),
    "causal_alignment": Cause(
        "The last query sees every key, also when there are fewer or more queries than keys: query i "
        "sees keys up to i + Nk - Nq. The bound of the loop needs the same shift as the mask.",
        "causal",
    ),
    "block_bounds_wrong": Cause(
        "`full` counts the keys that all queries of the tile see, so the first query decides; it is "
        "rounded down to whole blocks. `end` counts the keys that the last query sees, and is not "
        "rounded. Both lie between 0 and Nk.",
        "causal",
    ),
    "rereads_miscounted": Cause(
        "Each block of queries reads all keys and all values, also those that another block has read: "
        "k and v are read ceil(N / block_q) times. A query is read once, and its output written once.",
        "programs",
    ),
    "operand_left_out": Cause(
        "Four tensors go through memory: q, k and v are read, and the output is written.",
        "programs",
    ),
    "scores_counted": Cause(
        "Flash attention never writes or reads the scores: they stay in the program. Only q, k, v and "
        "the output go through memory.",
        "programs",
    ),
    "bytes_counted": Cause(
        "The answer is a number of elements, not of bytes.",
        "programs",
    ),
    "empty_row": Cause(
        "With more queries than keys, the first queries see no key at all, and their result is 0. "
        "Their maximum stays -inf, and -inf - (-inf) is NaN: subtract 0 there. Their sum stays 0: divide "
        "by 1 there. A large negative number in place of -inf gives them a mean of values instead.",
        "causal",
    ),
    "head_or_batch_offset": Cause(
        "A program works on one head of one batch. Each of the four pointers must be moved by batch * "
        "its own batch stride + head * its own head stride.",
        "heads",
    ),
    "gqa_mapping": Cause(
        "Neighbouring query heads share a key head: query head h uses key head h // (H // Hkv), for "
        "keys and for values.",
        "heads",
    ),
    "gradient_missing": Cause(
        "Return what `torch.autograd.Function.apply` returns, so that the result knows how it was made. "
        "`backward` returns one value for each argument of `forward`: a gradient for a tensor that "
        "requires one, None for the rest.",
        "function",
    ),
    "gradient_wrong": Cause(
        "With p the weights: dv = pᵀ·dout, dp = dout·vᵀ, ds = p·(dp - delta), dq = scale·ds·k, "
        "dk = scale·dsᵀ·q. Write the shape beside each product, and compare one gradient at a time.",
        "gradients",
    ),
    "gradient_scale": Cause(
        "Scores are scale·q·kᵀ, so that dq and dk carry the factor scale once, and dv does not. The "
        "factor log₂e belongs to the powers of 2 alone, not to a gradient.",
        "gradients",
    ),
    "gradient_delta": Cause(
        "The gradient of a softmax is y·(dy - s), and s is the sum of y·dy over the row. In attention s "
        "equals the sum of out·dout over D, from the finished output.",
        "delta",
    ),
    "gradient_causal": Cause(
        "The backward masks the same scores as the forward, no more and no fewer: key j counts for query "
        "i where j <= i + Nk - Nq if causal, and everywhere if not. A walk over queries begins at the "
        "first that sees a key of the block.",
        "walks",
    ),
    "gradient_layout": Cause(
        "The gradient that comes in has strides of its own: after `out.sum().backward()` they are all 0, "
        "after a transpose they are exchanged. Pass its strides, or make it contiguous first.",
        "delta",
    ),
    "recompute_wrong": Cause(
        "Weights made again must be those of the forward: exp(score - lse), with the log-sum-exp of the "
        "same, scaled scores. If scores are in base 2, so is lse: m + log2(l), and the power is `tl.exp2`.",
        "recompute",
    ),
    "epilogue_wrong": Cause(
        "The product is right, what follows it is not: add bias[n] to column n, then apply gelu in "
        "its exact form, 0.5·z·(1 + erf(z/√2)), in float32.",
        "epilogue",
    ),
    "group_not_clamped": Cause(
        "The last group has fewer rows of tiles than the others. Divide and take the remainder by "
        "its real size: `min(num_pid_m - first_pid_m, GROUP_M)`.",
        "grid",
    ),
    "autotune_grid": Cause(
        "The grid must be computed from the config that runs: "
        "`grid = lambda META: (triton.cdiv(M, META['BLOCK_M']) * triton.cdiv(N, META['BLOCK_N']),)`.",
        "grid",
    ),
    "autotune_key": Cause(
        "What one call decided is used again by the next. Put every argument on which the choice of "
        "a config depends into `key`, and keep nothing from call to call.",
        "grid",
    ),
    "autotune_in_place": Cause(
        "Tuning runs the kernel many times on the same memory. A kernel that adds to its output "
        "needs zeros before every run: clear them in each call and name the argument in "
        "`reset_to_zero`; one that changes an argument needs `restore_value`.",
        "output",
    ),
    "group_map_wrong": Cause(
        "Two programs compute the same tile, and another tile is left out. Write down the tile of "
        "every program for 3 by 2 tiles and GROUP_M = 2: a group has GROUP_M * tiles_n programs, it "
        "begins at row group * GROUP_M, and the row runs fastest within it.",
        "grid",
    ),
    "order_wrong": Cause(
        "Every tile has its program, but in another order. Groups are made of rows of tiles; within "
        "a group the row index runs fastest, then the column.",
        "grid",
    ),
    "tile_loop_wrong": Cause(
        "Program p computes the tiles p, p + programs, p + 2 * programs and so on: begin at "
        "`tl.program_id(0)`, go on by the number of programs, and end at the number of tiles.",
        "grid",
    ),
    "pointers_not_reset": Cause(
        "Something that belongs to one tile is used for the next. Rows, columns, pointers and the "
        "offset along K are made anew inside the loop over tiles.",
        "pointer-grids",
    ),
    "race": Cause(
        "Programs run at the same time and in any order. Let one program own each element of the "
        "output, or add with `tl.atomic_add` to zeroed memory.",
        "output",
    ),
    "hint_untrue": Cause(
        "A hint is a promise, and a GPU reads memory according to it. Take it away where the "
        "values do not keep it: after `%`, only if the length is a multiple of the tile.",
        "pointer-grids",
    ),
    "waves_wrong": Cause(
        "Tiles run in waves of one for each SM, and a wave that is not full takes as long as a full one. "
        "Divide the tiles by the places that all waves have: the number of waves, rounded up, times the SMs.",
        "grid",
    ),
    "slices_wrong": Cause(
        "Every k belongs to exactly one slice. Slice s begins at s times its length, ends where the "
        "next begins, and the mask of its last tile must say so.",
        "k-loop",
    ),
    "unit_wrong": Cause(
        "A factor between units is missing or one too many. Write the unit behind every number: a byte "
        "is 8 bits, a transfer is one bit on each wire, k, M, G and T are powers of 1,000, and a "
        "millisecond is 0.001 s.",
        "units",
    ),
    "flop_miscounted": Cause(
        "Count a multiplication and an addition for every product: an (M, K) by (K, N) matrix product "
        "has 2 * M * N * K operations. Operations that are given to you as FLOP are counted already.",
        "intensity",
    ),
    "traffic_miscounted": Cause(
        "Count what the task has to move, not what a loop would load: every input once, the output "
        "once, each with all its elements, and each element with its bytes.",
        "intensity",
    ),
    "quotient_inverted": Cause(
        "A quotient is upside down. Write the units as a fraction: FLOP per byte is operations divided "
        "by bytes, and TB/s times FLOP per byte gives TFLOPS.",
        "intensity",
    ),
    "wrong_limit": Cause(
        "Two limits hold at the same time. A rate is at most the *smaller* of peak and intensity times "
        "bandwidth; a time is at least the *larger* of the time of the arithmetic and the time of the "
        "memory, since the two overlap.",
        "roofline",
    ),
    "not_synchronised": Cause(
        "A launch returns before the work is done, so this is the time of the launch. Wait for the GPU "
        "after `fn()` and before the clock is read: `torch.cuda.synchronize()`, where there is a GPU.",
        "async",
    ),
    "warmup_timed": Cause(
        "Call `fn` exactly `warmup` times first, leave these times out, and wait until that work is "
        "done before the first clock is read.",
        "cold",
    ),
    "median_wrong": Cause(
        "Time each of the `repeats` calls by itself and return the median: the middle one of the sorted "
        "times. One slow call spoils a mean, one lucky call decides the least.",
        "median",
    ),
    "total_time": Cause(
        "This is the time of all timed calls, or a time divided by their number twice. Each call has a "
        "time of its own, and the result is the time of one.",
        "median",
    ),
    "clearing_timed": Cause(
        "The time contains the clearing of the cache. Clear it before the clock is read, and wait until "
        "the GPU has done that: it works on its own.",
        "cache",
    ),
    "cache_not_cleared": Cause(
        "The timed call found its data in the cache. Clear the cache before *every* timed call, and let "
        "no other call of `fn` come between.",
        "cache",
    ),
    "strips_counted_twice": Cause(
        "Programs in one row of tiles read the same strip of A, and those in one column the same strip "
        "of B. Count different rows and different columns of tiles, not programs.",
        "grid",
    ),
    "strips_exchanged": Cause(
        "The two counts are exchanged. A strip of A belongs to a row of tiles, a strip of B to a column; "
        "return (strips of A, strips of B).",
        "grid",
    ),
    "wave_bounds_wrong": Cause(
        "The wave has the programs `first` to `first + programs - 1`, and only those that exist: the "
        "numbers end at num_pid_m * num_pid_n - 1.",
        "grid",
    ),
    "strips_by_formula": Cause(
        "A formula for whole groups misses waves that begin inside a group, end inside one or span two. "
        "Ask the map for the tile of every program, and count what differs.",
        "grid",
    ),
    "layout_map_wrong": Cause(
        "Along each axis, `row // size_per_thread` is the block; its remainder by the lanes of that axis "
        "is part of the lane, its quotient part of the warp. Both are put together with the last axis of "
        '`"order"` as the slowest.',
        "pointer-grids",
    ),
    "layout_not_repeated": Cause(
        "A layout is repeated over a larger tile. Take the warp along each axis modulo the number of "
        "warps of that axis, and the lane modulo the number of lanes.",
        "pointer-grids",
    ),
    "buffers_miscounted": Cause(
        "Each stage holds one tile of A, block_m by block_k, and one of B, block_k by block_n. The tile "
        "of C stays in registers. Multiply by num_stages once.",
        "k-loop",
    ),
    "bytes_miscounted": Cause(
        "The answer is in bytes: multiply the number of elements by `itemsize`, whatever that is.",
        "k-loop",
    ),
    "limit_forgotten": Cause(
        "Warps, programs, registers and shared memory each allow some number of programs, and the least "
        "of these counts. Work the four out one by one for the call above.",
        "programs",
    ),
    "register_units": Cause(
        "A warp takes registers_per_thread * warp_size registers, rounded up to whole units, from one "
        "partition. Count the warps of a partition, then of the SM, then the programs.",
        "programs",
    ),
    "shared_units": Cause(
        "The system takes `shared_reserved` bytes for each program on top of its own, and gives the sum "
        "out in whole units of the memory of the SM, `shared_sm`.",
        "programs",
    ),
    "too_large_to_start": Cause(
        "No program may have more than `shared_block` bytes of shared memory, however much the SM has. "
        "What needs more does not start, and the answer is 0.",
        "programs",
    ),
    "warps_for_programs": Cause(
        "That is the number of warps. A program has `num_warps` of them; return the programs.",
        "programs",
    ),
    "rounds_miscounted": Cause(
        "The busiest SM computes as many tiles as there are, divided by the number of SMs and rounded "
        "up: with 133 tiles and 132 SMs it computes 2, with 5 tiles 1, with none 0.",
        "loads",
    ),
    "shared_memory_misjudged": Cause(
        "A config needs (BLOCK_M + BLOCK_N) * BLOCK_K elements for each of its num_stages, and each takes "
        '`named_args["a_ptr"].element_size()` bytes. It may need exactly `gpu["max_shared_mem"]`.',
        "prune",
    ),
    "registers_misjudged": Cause(
        "A thread holds BLOCK_M * BLOCK_N / (32 * num_warps) numbers of the accumulator, and up to 128 "
        "are fine, 128 included.",
        "prune",
    ),
    "loads_misjudged": Cause(
        "Compare the loads of a config with twice the least among the configs that are left after the "
        "first two rules. What cannot run must not set the standard, and exactly twice is allowed.",
        "prune",
    ),
    "nothing_left": Cause(
        "Look at the case in which nothing is left. A rule of thumb that no config passes is dropped, a "
        "config that cannot start never comes back, and the regret of keeping nothing is infinite.",
        "regret",
    ),
    "regret_miscounted": Cause(
        "Regret is the least time that was kept divided by the least time of all, minus 1. `kept` holds "
        "places in the list of times.",
        "regret",
    ),
    "missing_times": Cause(
        "None says that a config did not run. Leave it out of both minima; it is neither 0 nor 1 ms.",
        "regret",
    ),
    "bucket_wrong": Cause(
        "The bucket is the least power of two that is not below M, so that a power of two is its own "
        "bucket; then at least 16 and at most 4096.",
        "keys",
    ),
    "wrong_values": Cause(
        "Try the smallest failing case by hand: print the tile's offsets and compare one element "
        "with the sum written out.",
        "start",
        "Work out the call above by hand, and compare each intermediate value with your code's.",
    ),
}

# Topics that only these chapters have a section for. Elsewhere such a hint leads to the start.
ONLY_IN = {
    "units": (1, 2), "intensity": (1,), "roofline": (1,),
    "async": (2,), "cold": (2,), "median": (2,), "cache": (2,),
    "formats": (7,), "tf32": (7,), "tolerance": (7,),
    "loads": (10,), "prune": (10,), "regret": (10,), "keys": (10,),
    "function": (13,), "gradients": (13,), "delta": (13,), "walks": (13,), "recompute": (13,),
}  # fmt: skip

# Every other topic. The chapters without kernels have one section to answer them all.
KERNEL_TOPICS = {cause.topic for cause in CAUSES.values()} - ONLY_IN.keys()

# Chapters whose sections have other names than the topic.
TOPICS = {
    1: dict.fromkeys(KERNEL_TOPICS, "intensity"),
    2: dict.fromkeys(KERNEL_TOPICS, "units"),
    3: {
        "output": "start", "grid": "blocks", "programs": "traffic", "pointer-grids": "blocks",
        "strides": "start", "int64": "traffic", "masks": "edges", "identity": "edges",
        "k-loop": "blocks", "accumulator": "accumulate", "epilogue": "accumulate",
        "stability": "accumulate", "merge": "accumulate", "rescale": "accumulate",
        "causal": "edges", "heads": "blocks",
    },
    4: {
        "start": "programs", "k-loop": "programs", "accumulator": "programs", "epilogue": "programs",
        "identity": "masks", "stability": "programs", "merge": "programs", "rescale": "programs",
        "causal": "masks", "heads": "strides",
    },
    5: {
        "start": "identity", "programs": "persistent", "grid": "persistent", "k-loop": "persistent",
        "pointer-grids": "strides", "int64": "strides", "accumulator": "stability",
        "epilogue": "stability", "merge": "stability", "rescale": "stability",
        "causal": "identity", "heads": "strides",
    },
    6: {
        "start": "k-loop", "pointer-grids": "strides", "programs": "grid", "int64": "strides",
        "identity": "masks", "stability": "accumulator", "merge": "accumulator",
        "rescale": "accumulator", "causal": "masks", "heads": "strides",
    },
    7: {
        "start": "formats", "output": "kernel", "grid": "kernel", "masks": "kernel",
        "k-loop": "kernel", "strides": "kernel", "pointer-grids": "kernel", "int64": "kernel",
        "programs": "kernel", "identity": "kernel", "epilogue": "kernel", "causal": "kernel",
        "heads": "kernel", "accumulator": "accumulation", "stability": "accumulation",
        "merge": "accumulation", "rescale": "accumulation",
    },
    8: dict.fromkeys(
        (
            "programs", "output", "masks", "k-loop", "accumulator", "strides", "pointer-grids", "int64",
            "identity", "stability", "merge", "rescale", "causal", "heads", "epilogue",
        ),
        "kernel",
    )
    | {"start": "map", "grid": "map"},
    9: dict.fromkeys(
        (
            "start", "output", "grid", "masks", "accumulator", "strides", "int64", "identity",
            "stability", "merge", "rescale", "causal", "heads", "epilogue",
        ),
        "steps",
    )
    | {"pointer-grids": "layouts", "k-loop": "stages", "programs": "occupancy"},
    10: dict.fromkeys(KERNEL_TOPICS, "kernel")
    | {"start": "tuner", "output": "in-place", "grid": "grid", "programs": "loads", "pointer-grids": "loads"},
    11: {
        "start": "merge", "programs": "merge", "grid": "merge", "k-loop": "merge",
        "pointer-grids": "strides", "int64": "strides", "accumulator": "rescale",
        "epilogue": "stability", "causal": "identity", "heads": "strides",
    },
    12: dict.fromkeys(("start", "grid"), "grid")
    | dict.fromkeys(("masks", "identity"), "masks")
    | dict.fromkeys(("k-loop", "accumulator", "stability", "merge", "rescale", "epilogue"), "loop")
    | dict.fromkeys(("programs", "output", "strides", "pointer-grids", "int64", "heads"), "heads"),
    13: dict.fromkeys(("grid", "programs", "masks", "identity", "k-loop", "accumulator", "causal"), "walks")
    | dict.fromkeys(("stability", "merge", "rescale", "epilogue"), "recompute")
    | dict.fromkeys(("strides", "pointer-grids", "int64"), "delta")
    | {"start": "gradients", "output": "races"},
    14: {
        "start": "persistent", "output": "split-k", "grid": "waves", "programs": "persistent",
        "pointer-grids": "persistent", "strides": "descriptors", "int64": "persistent",
        "masks": "persistent", "identity": "split-k", "k-loop": "split-k",
        "accumulator": "split-k", "epilogue": "split-k", "stability": "split-k",
        "merge": "split-k", "rescale": "split-k", "causal": "persistent", "heads": "persistent",
    },
}  # fmt: skip


def reading(cause: str, chapter: int, folder: str) -> str:
    """ "book/06_triton_matmul.md#ch6-masks": where a chapter explains what went wrong.

    A chapter that is not written yet is answered by the list of those that are.
    """
    if not (BOOK / f"{folder}.md").exists():
        return "book/index.md#chapters"
    topic = CAUSES[cause].topic
    if chapter not in ONLY_IN.get(topic, (chapter,)):
        topic = "start"
    topic = TOPICS.get(chapter, {}).get(topic, topic)
    return f"book/{folder}.md#ch{chapter}-{topic}"
