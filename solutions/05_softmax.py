# %% [markdown]
# # Softmax
#
# Four kernels that reduce each row of a matrix to a number, and then use it:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `row_max(x)` | a reduction, and what a masked lane must count as | 5 |
# | 2 | `log_sum_exp(x)` | a second pass that needs the first, without overflow | 6 |
# | 3 | `softmax(x)` | a whole row in registers, and programs that take many rows | 10 |
# | 4 | `layer_norm(x, eps)` | a masked lane that stops being neutral | 8 |
#
# The ideas are explained in [chapter 5](../../book/05_softmax.md). Fill in each cell that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `row_max`
#
# **A worked kernel first.** It sums each row. One program takes one row, in blocks of `BLOCK`
# columns. It keeps `BLOCK` running sums side by side, one in each lane, and adds them up once, at
# the end. A lane past the end of the row counts as 0, which changes no sum.

# %% tags=["active-ipynb"]
# @triton.jit
# def row_sum_kernel(x_ptr, out_ptr, C, BLOCK: tl.constexpr):
#     row = tl.program_id(0)
#     total = tl.zeros((BLOCK,), tl.float32)
#     for start in range(0, C, BLOCK):
#         cols = start + tl.arange(0, BLOCK)
#         total += tl.load(x_ptr + row * C + cols, mask=cols < C, other=0.0)
#     tl.store(out_ptr + row, tl.sum(total, axis=0))
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = -torch.ones(3, 5, device=device)
# sums = torch.empty(3, device=device)
# row_sum_kernel[(3,)](x, sums, 5, BLOCK=4)
# sums

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def row_max(x):              # x is (R, C), R and C at least 1; float16, bfloat16 or float32
#     return x.amax(dim=1)     # (R,), new, with the dtype and the device of x
# ```
#
# - `x` may be any view: transposed, sliced, padded, expanded. Use both of its strides.
# - Entries may be very negative, and may be `-inf`. None is NaN.
# - **Given:** the wrapper with the launch, the row of a program, the columns of a block.
# - **Yours:** the running maxima, the loop, the reduction at the end, the store.
#
# <details>
# <summary>Hint 1: what differs from the sum</summary>
#
# The sums began at 0 and a lane outside counted as 0, because adding 0 changes nothing. Which number
# changes nothing under *maximum*? It is smaller than every number there is.
#
# </details>
#
# <details>
# <summary>Hint 2: the parts</summary>
#
# `tl.full((BLOCK,), value, tl.float32)` makes the block to begin with. `tl.maximum(a, b)` takes the
# larger of two blocks lane by lane; `tl.max(a, axis=0)` takes the largest lane of one block.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `best`: a block of `float("-inf")` in float32.
# 2. `for start in range(0, C, BLOCK):`
# 3. The mask is `cols < C - start`. The element lies `(start + cols) * stride_c` after `row_ptr`.
# 4. Load with that mask and `other=float("-inf")`, convert with `.to(tl.float32)`.
# 5. `best = tl.maximum(best, x)`
# 6. After the loop, store `tl.max(best, axis=0)` at `out_ptr + row`. `tl.store` casts it back.
#
# </details>


# %% nbgrader={"grade_id": "row_max", "solution": true}
@triton.jit
def row_max_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    # int64, because a row or a column times its stride can pass 2**31, where int32 wraps round.
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    # A block of running maxima; a loop over blocks of the row; one reduction; one store.
    ### BEGIN SOLUTION
    # Maxima side by side, one a lane: lanes talk to each other once, not in every turn. float32
    # holds every float16 and every bfloat16, so nothing is rounded on the way.
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, C, BLOCK):
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=cols < C - start, other=float("-inf"))
        best = tl.maximum(best, x.to(tl.float32))
    tl.store(out_ptr + row, tl.max(best, axis=0))
    ### END SOLUTION


def row_max(x):
    """Return the maximum of each row of x, shape (R,), in the dtype of x."""
    R, C = x.shape
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    block = min(triton.next_power_of_2(C), 1024)  # tiles have powers of two for sizes
    row_max_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=block)
    return out


# %% [markdown]
# Look before you check. All entries are negative, and five columns do not fill a block of eight.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = -1 - torch.arange(15, dtype=torch.float32, device=device).reshape(3, 5)
# print(row_max(x), "should be -1, -6, -11")
# print(row_max(x.T), "should be -1, -2, -3, -4, -5")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "row_max-check", "grade": true}
# check(row_max)

# %% [markdown]
# ## Step 2: `log_sum_exp`
#
# **A worked kernel first.** It computes the length of each row, the root of its sum of squares. The
# square of 3e20 is too large for float32, so the row is divided by its largest entry before it is
# squared, and the result is multiplied by it at the end. That takes two passes over the row: the
# second needs the number that the first has found. 0 is neutral in both: no |x| is smaller, and its
# square adds nothing.

# %% tags=["active-ipynb"]
# @triton.jit
# def row_length_kernel(x_ptr, out_ptr, C, BLOCK: tl.constexpr):
#     row = tl.program_id(0)
#     cols = tl.arange(0, BLOCK)
#     largest = tl.zeros((BLOCK,), tl.float32)
#     for start in range(0, C, BLOCK):
#         x = tl.load(x_ptr + row * C + start + cols, mask=cols < C - start, other=0.0)
#         largest = tl.maximum(largest, tl.abs(x))
#     scale = tl.max(largest, axis=0)
#     total = tl.zeros((BLOCK,), tl.float32)
#     for start in range(0, C, BLOCK):
#         x = tl.load(x_ptr + row * C + start + cols, mask=cols < C - start, other=0.0)
#         total += (x / scale) * (x / scale)
#     tl.store(out_ptr + row, scale * tl.sqrt(tl.sum(total, axis=0)))
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.tensor([[3.0, 4.0, 0.0, 0.0, 0.0], [3e20, 4e20, 0.0, 0.0, 0.0]], device=device)
# lengths = torch.empty(2, device=device)
# row_length_kernel[(2,)](x, lengths, 5, BLOCK=4)
# print(lengths, "should be 5 and 5e20;", "unscaled:", (x * x).sum(dim=1).sqrt())

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def log_sum_exp(x):          # x is (R, C), R and C at least 1; float16, bfloat16 or float32
#     return x.float().exp().sum(dim=1).log()     # (R,), new, float32 for every dtype of x
# ```
#
# - Written like this, the specification overflows from an entry of 89 on. Yours must not: for the
#   maximum m of a row, log(sum(exp(x))) = m + log(sum(exp(x - m))).
# - `x` may be any view. A row may be longer than any block.
# - Entries may be large, very negative or `-inf`. None is NaN, and no row is `-inf` throughout.
# - **Given:** the wrapper with the launch, the row of a program, the columns of a block.
# - **Yours:** two passes and the store.
#
# <details>
# <summary>Hint 1: what to reuse</summary>
#
# The first pass is step 1. The second walks over the same blocks, with the same mask, and sums. Which
# value must a masked lane have *after* `exp`, and which one before?
#
# </details>
#
# <details>
# <summary>Hint 2: the parts</summary>
#
# A masked lane is loaded as `float("-inf")` in both passes: exp(-inf - m) is 0. `tl.exp` and `tl.log`
# are natural. Keep a block of running sums, and reduce it once, after the loop.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. The running maxima and their loop as in step 1; then `m = tl.max(best, axis=0)`.
# 2. `total`: a block of zeros in float32.
# 3. The loop again, with the same load; `total += tl.exp(x.to(tl.float32) - m)`
# 4. Store `m + tl.log(tl.sum(total, axis=0))` at `out_ptr + row`.
#
# </details>


# %% nbgrader={"grade_id": "log_sum_exp", "solution": true}
@triton.jit
def log_sum_exp_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    # One pass for the maximum, one for the sum of exp(x - maximum), one store.
    ### BEGIN SOLUTION
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, C, BLOCK):
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=cols < C - start, other=float("-inf"))
        best = tl.maximum(best, x.to(tl.float32))
    m = tl.max(best, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, C, BLOCK):
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=cols < C - start, other=float("-inf"))
        total += tl.exp(x.to(tl.float32) - m)
    tl.store(out_ptr + row, m + tl.log(tl.sum(total, axis=0)))
    ### END SOLUTION


def log_sum_exp(x):
    """Return the logarithm of the sum of the exponentials of each row of x, shape (R,), float32."""
    R, C = x.shape
    out = torch.empty((R,), dtype=torch.float32, device=x.device)
    block = min(triton.next_power_of_2(C), 1024)
    log_sum_exp_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=block)
    return out


# %% [markdown]
# Look before you check. Equal entries: the result is the entry plus log(5), here 1.609.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.tensor([[0.0], [1000.0], [-1000.0]], device=device).expand(3, 5)
# print(log_sum_exp(x), "should be 1.609, 1001.609, -998.391")
# x = torch.randn(3, 300, device=device)
# print("largest difference:", (log_sum_exp(x) - torch.logsumexp(x, dim=1)).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "log_sum_exp-check", "grade": true}
# check(log_sum_exp)

# %% [markdown]
# ## Step 3: `softmax`
#
# **A worked kernel first.** It centres each row: every entry minus the mean of its row. The row is
# read once and stays in registers, since `BLOCK` is at least the number of columns. There are fewer
# programs than rows: program `p` of `P` takes the rows `p`, `p + P`, `p + 2P` and so on. A lane past
# the end is loaded as 0 for the sum; the store is masked, so what becomes of it later is no matter.

# %% tags=["active-ipynb"]
# @triton.jit
# def centre_kernel(x_ptr, out_ptr, R, C, BLOCK: tl.constexpr):
#     cols = tl.arange(0, BLOCK)
#     for row in range(tl.program_id(0), R, tl.num_programs(0)):
#         x = tl.load(x_ptr + row * C + cols, mask=cols < C, other=0.0)
#         centred = x - tl.sum(x, axis=0) / C
#         tl.store(out_ptr + row * C + cols, centred, mask=cols < C)
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.arange(15, dtype=torch.float32, device=device).reshape(5, 3)
# centred = torch.empty_like(x)
# centre_kernel[(2,)](x, centred, 5, 3, BLOCK=4)
# centred

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def softmax(x):              # x is (R, C), R at least 1, C from 1 to 8192
#     wide = x.float()         # x is float16, bfloat16 or float32; the arithmetic is float32
#     e = (wide - wide.amax(dim=1, keepdim=True)).exp()
#     return (e / e.sum(dim=1, keepdim=True)).to(x.dtype)    # (R, C), contiguous
# ```
#
# - `x` may be any view: use both of its strides. There may be far more rows than programs.
# - Entries may be large, very negative or `-inf` (the result is 0 there). None is NaN or `+inf`.
# - A row in which *every* entry is `-inf` has no softmax: it is 0 / 0. PyTorch gives NaN. This step
#   promises nothing about such a row, and the check has none.
# - **Given:** the wrapper with the launch, the columns, the loop over rows.
# - **Yours:** what is done to one row.
#
# <details>
# <summary>Hint 1: why the maximum is subtracted</summary>
#
# `exp(89)` is too large for float32, and `exp(-104)` is 0. Dividing `exp(x)` and its sum by
# `exp(max)` leaves the quotient as it is, and makes the largest of the terms exactly 1.
#
# </details>
#
# <details>
# <summary>Hint 2: one value of `other` for two reductions</summary>
#
# A lane past the end must change neither the maximum nor the sum. Load it as `float("-inf")`: then
# it loses every comparison, and `exp(-inf - max)` is 0. Convert to float32 before `tl.exp`, which
# takes no 16-bit numbers.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. Load the row: `x_ptr + row * stride_r + cols * stride_c`, mask `cols < C`, `other=-inf`.
# 2. Convert with `.to(tl.float32)`.
# 3. `e = tl.exp(x - tl.max(x, axis=0))`
# 4. Divide `e` by `tl.sum(e, axis=0)`.
# 5. Store at `out_ptr + row * C + cols` with the mask `cols < C`. The output is contiguous: its row
#    stride is `C`, whatever the stride of `x` is.
#
# </details>


# %% nbgrader={"grade_id": "softmax", "solution": true}
@triton.jit
def softmax_kernel(x_ptr, out_ptr, R, C, stride_r, stride_c, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK).to(tl.int64)  # int64, as in step 1
    for index in range(tl.program_id(0), R, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        # One load, the maximum, the exponentials, their sum, one store.
        ### BEGIN SOLUTION
        x = tl.load(
            x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=float("-inf")
        ).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * C + cols, e / tl.sum(e, axis=0), mask=cols < C)
        ### END SOLUTION


def programs_at_once(device, num_warps):
    """How many programs the GPU can hold at once; 64 where there is none."""
    if device.type != "cuda":
        return 64
    gpu = torch.cuda.get_device_properties(device)
    warps = gpu.max_threads_per_multi_processor // 32
    return gpu.multi_processor_count * max(1, warps // num_warps)


def softmax(x):
    """Return the softmax of each row of x, in the dtype of x, computed in float32."""
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(C)
    # A warp for every 512 columns, 16 entries a lane: long rows stay in registers too.
    num_warps = min(max(block // 512, 1), 32)
    # Four times as many programs as could fit. Registers leave room for fewer, and with many small
    # shares of rows the last ones to start do not have much left to do.
    programs = min(R, 4 * programs_at_once(x.device, num_warps))
    softmax_kernel[(programs,)](
        x, out, R, C, x.stride(0), x.stride(1), BLOCK=block, num_warps=num_warps
    )
    return out


# %% [markdown]
# Look before you check. The rows sum to 1, and adding 1000 to all entries of a row changes nothing.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.tensor([[0.0, 1.0, 2.0], [1000.0, 1001.0, 1002.0]], device=device)
# print(softmax(x), softmax(x).sum(dim=1))
# print("largest difference:", (softmax(x) - torch.softmax(x, dim=1)).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "softmax-check", "grade": true}
# check(softmax)

# %% [markdown]
# ## Step 4: `layer_norm`
#
# **A worked kernel first.** It counts how many entries of each row lie above the row's mean. A masked
# lane is loaded as 0, which is right for the sum. But the comparison makes something else of it: in a
# row of negative numbers 0 lies above the mean, and would be counted. So it is set to 0 once more.

# %% tags=["active-ipynb"]
# @triton.jit
# def above_mean_kernel(x_ptr, out_ptr, R, C, BLOCK: tl.constexpr):
#     cols = tl.arange(0, BLOCK)
#     for row in range(tl.program_id(0), R, tl.num_programs(0)):
#         x = tl.load(x_ptr + row * C + cols, mask=cols < C, other=0.0)
#         mean = tl.sum(x, axis=0) / C
#         above = tl.where(cols < C, tl.where(x > mean, 1, 0), 0)
#         tl.store(out_ptr + row, tl.sum(above, axis=0))
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.tensor([[-1.0, -2.0, -3.0], [-5.0, -5.0, -2.0]], device=device)
# count = torch.empty(2, dtype=torch.int32, device=device)
# above_mean_kernel[(1,)](x, count, 2, 3, BLOCK=4)
# count

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def layer_norm(x, eps):      # x is (R, C), R at least 1, C from 1 to 8192; eps is positive
#     wide = x.float()         # x is float16, bfloat16 or float32; the arithmetic is float32
#     distance = wide - wide.mean(dim=1, keepdim=True)
#     variance = (distance * distance).mean(dim=1, keepdim=True)
#     return (distance / (variance + eps).sqrt()).to(x.dtype)    # (R, C), contiguous
# ```
#
# - This is `torch.nn.functional.layer_norm` over the last axis, without weight and bias.
# - `x` may be any view: use both of its strides. All entries are finite.
# - A row may lie far from zero. The mean of x² minus the square of the mean is the variance too, on
#   paper. In float32 it is rounding noise there.
# - **Given:** the wrapper with the launch, the columns, the loop over rows.
# - **Yours:** what is done to one row.
#
# <details>
# <summary>Hint 1: two sums, two looks at the masked lanes</summary>
#
# Write down what a masked lane holds after each line. What must it hold when the squares are summed?
#
# </details>
#
# <details>
# <summary>Hint 2: the parts</summary>
#
# Both means divide by `C`, not by `BLOCK`. `tl.where(cols < C, x - mean, 0.0)` is the distance, and 0
# in masked lanes. `tl.sqrt` takes the root.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. Load the row with both strides, mask `cols < C`, `other=0.0`; convert with `.to(tl.float32)`.
# 2. `mean = tl.sum(x, axis=0) / C`
# 3. `distance`: `x - mean`, and 0 where `cols < C` is false.
# 4. `variance`: the sum of `distance * distance`, divided by `C`.
# 5. Store `distance / tl.sqrt(variance + eps)` at `out_ptr + row * C + cols` with the mask.
#
# </details>


# %% nbgrader={"grade_id": "layer_norm", "solution": true}
@triton.jit
def layer_norm_kernel(x_ptr, out_ptr, R, C, stride_r, stride_c, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK).to(tl.int64)
    for index in range(tl.program_id(0), R, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        # One load, the mean, the distances from it, the variance, one store.
        ### BEGIN SOLUTION
        x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=0.0)
        x = x.to(tl.float32)
        mean = tl.sum(x, axis=0) / C
        # A masked lane is 0, and would be -mean from here on.
        distance = tl.where(cols < C, x - mean, 0.0)
        variance = tl.sum(distance * distance, axis=0) / C
        tl.store(out_ptr + row * C + cols, distance / tl.sqrt(variance + eps), mask=cols < C)
        ### END SOLUTION


def layer_norm(x, eps):
    """Return each row of x with mean 0 and variance 1 (nearly: eps is added to the variance)."""
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(C)
    num_warps = min(max(block // 512, 1), 32)
    programs = min(R, programs_at_once(x.device, num_warps))
    layer_norm_kernel[(programs,)](
        x, out, R, C, x.stride(0), x.stride(1), eps, BLOCK=block, num_warps=num_warps
    )
    return out


# %% [markdown]
# Look before you check. Each row has mean 0 and variance 1 afterwards, wherever it was before.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.tensor([[1.0, 2.0, 3.0], [1001.0, 1002.0, 1003.0]], device=device)
# print(layer_norm(x, 1e-5), "should be -1.225, 0, 1.225 twice")
# x = torch.randn(3, 300, device=device)
# difference = layer_norm(x, 1e-5) - torch.nn.functional.layer_norm(x, (300,))
# print("largest difference:", difference.abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "layer_norm-check", "grade": true}
# check(layer_norm)

# %% [markdown]
# ## If you want more
#
# - Load the masked lanes as 0 instead of `-inf`. For which rows is the result still right, and why
#   does a test on 1024 columns not see it?
# - How many bytes must `softmax` move at least for an (R, C) tensor of fp16? A version in three
#   PyTorch operators moves how many times as much?
