# %% [markdown]
# # Online softmax
#
# One kernel for rows of any length:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `online_softmax(x)` | a maximum and a sum that are corrected as the row goes by | 10 |
#
# The ideas are explained in chapter 11. Fill in the cell that says `YOUR CODE HERE`, delete its
# `raise` line, look at a small result, then run the check below it. You can check as often as you
# like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `online_softmax`
#
# **A worked example first**, in plain Python: the same idea for the *sum of powers of two*
# `2**a + 2**b + …`, kept as a pair. The largest exponent so far is `m`, and `s` is the sum divided
# by `2**m`. When a larger exponent comes, `m` moves up and the old sum is scaled down to the new
# unit. No number on the way is large, however large the exponents are.

# %% tags=["active-ipynb"]
# m, s = float("-inf"), 0.0
# for exponent in [3, 1, 2000, 1999]:
#     new_m = max(m, exponent)
#     s = s * 2.0 ** (m - new_m) + 2.0 ** (exponent - new_m)
#     m = new_m
#     print(f"after {exponent:4}: the sum is {s} times 2 to the power of {m}")

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def online_softmax(x):       # x is (R, C), R and C at least 1, of any length
#     wide = x.float()         # x is float16, bfloat16 or float32; the arithmetic is float32
#     return torch.softmax(wide, dim=1).to(x.dtype)          # (R, C), contiguous
# ```
#
# Read every row **twice**: once block by block for the maximum and the sum together, once to write
# `exp(x - m) / l`. A version with a pass for the maximum and another for the sum reads it three times.
#
# - `x` may be any view: use both of its strides.
# - Entries may be large, very negative or `-inf` (the result is 0 there). None is NaN or `+inf`.
#   A whole block may be `-inf`, also the first.
# - A row in which *every* entry is `-inf` has no softmax: it is 0 / 0. PyTorch gives NaN. This step
#   promises nothing about such a row, and the check has none.
# - **Given:** the wrapper with the launch, the row of a program, the columns of a block.
# - **Yours:** both loops.
#
# <details>
# <summary>Hint 1: what is carried from block to block</summary>
#
# Two numbers: `m`, the maximum of all entries seen so far, and `l`, the sum of `exp(x - m)` over
# them. A new block has a maximum of its own. The new `m` is the larger of the two, and the old sum
# must be expressed in it: `l * exp(m - new_m)`.
#
# </details>
#
# <details>
# <summary>Hint 2: before anything finite was seen</summary>
#
# `m` begins at `-inf` and `l` at 0. If the first block holds nothing but `-inf`, then `new_m` is
# `-inf` as well, and `-inf - (-inf)` is NaN. Subtract 0 in that case:
# `base = tl.where(new_m == float("-inf"), 0.0, new_m)`. Then `exp(-inf - 0)` is 0, as it should be.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `m` and `l` as above: `tl.full((), float("-inf"), tl.float32)` and the same with 0.
# 2. `for start in range(0, C, BLOCK):` load a block with mask `cols < C - start` and `other=-inf`,
#    convert to float32.
# 3. `new_m = tl.maximum(m, tl.max(x, axis=0))`, then `base` as in hint 2.
# 4. `l = l * tl.exp(m - base) + tl.sum(tl.exp(x - base), axis=0)`, then `m = new_m`.
# 5. A second loop like the first: load, store `tl.exp(x - m) / l` at `out_row + start + cols` with
#    the same mask. Here `m` is finite.
#
# </details>


# %% nbgrader={"grade_id": "online_softmax", "solution": true}
@triton.jit
def online_softmax_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    # int64, because a row or a column times its stride can pass 2**31, where int32 wraps round.
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    out_row = out_ptr + row * C  # the output is contiguous
    # First loop: maximum and sum together. Second loop: normalise and store.
    ### BEGIN SOLUTION
    m = tl.full((), float("-inf"), tl.float32)
    l = tl.full((), 0.0, tl.float32)
    for start in range(0, C, BLOCK):
        x = tl.load(
            row_ptr + (start + cols) * stride_c, mask=cols < C - start, other=float("-inf")
        ).to(tl.float32)
        new_m = tl.maximum(m, tl.max(x, axis=0))
        # As long as all is -inf, subtract 0: -inf - (-inf) would be NaN.
        base = tl.where(new_m == float("-inf"), 0.0, new_m)
        l = l * tl.exp(m - base) + tl.sum(tl.exp(x - base), axis=0)
        m = new_m
    for start in range(0, C, BLOCK):
        x = tl.load(
            row_ptr + (start + cols) * stride_c, mask=cols < C - start, other=float("-inf")
        ).to(tl.float32)
        tl.store(out_row + start + cols, tl.exp(x - m) / l, mask=cols < C - start)
    ### END SOLUTION


def online_softmax(x):
    """Return the softmax of each row of x, in the dtype of x, computed in float32."""
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    block = min(triton.next_power_of_2(C), 2048)
    num_warps = max(block // 512, 1)  # 16 entries a lane
    online_softmax_kernel[(R,)](
        x, out, C, x.stride(0), x.stride(1), BLOCK=block, num_warps=num_warps
    )
    return out


# %% [markdown]
# Look before you check. The row has several blocks, and its largest entries come last.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.linspace(-300, 300, 5000, device=device).reshape(1, 5000)
# y = online_softmax(x)
# print("sum:", y.sum().item())
# print("largest difference:", (y - torch.softmax(x, dim=1)).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "online_softmax-check", "grade": true}
# check(online_softmax)

# %% [markdown]
# ## If you want more
#
# - The pair (m, l) of a whole row can be put together from the pairs of its parts, in any order.
#   Write down how two pairs are joined. What is the pair of a part that holds only `-inf`?
# - Each block costs two reductions over all lanes. Keep `m` and `l` as blocks instead, one pair a
#   lane, and join the lanes once at the end. Which costs grow, and which shrink?
