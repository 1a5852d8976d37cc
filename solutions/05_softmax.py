# %% [markdown]
# # Softmax
#
# Two kernels that reduce each row of a matrix to a number, and then use it:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `row_max(x)` | a reduction, and what a masked lane must count as | 5 |
# | 2 | `softmax(x)` | two reductions over one row, without overflow | 10 |
#
# The ideas are explained in chapter 5. Fill in each cell that says `YOUR CODE HERE`, delete its
# `raise` line, look at a small result, then run the check below it. You can check as often as you
# like. No GPU is needed.

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
# ## Step 2: `softmax`
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


def resident_programs(device, num_warps):
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
    # Enough programs to fill the GPU. More would only wait for a place, and each has a start to pay.
    programs = min(R, resident_programs(x.device, num_warps))
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
# ## If you want more
#
# - Load the masked lanes as 0 instead of `-inf`. For which rows is the result still right, and why
#   does a test on 1024 columns not see it?
# - How many bytes must `softmax` move at least for an (R, C) tensor of fp16? A version in three
#   PyTorch operators moves how many times as much?
