# %% [markdown]
# # Online softmax
#
# Three steps, each adding one idea to the one before:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `merge(m1, l1, m2, l2)` | two running pairs become one | 6 |
# | 2 | `online_softmax(x)` | a maximum and a sum that are corrected as the row goes by | 10 |
# | 3 | `weighted_mean(x, v)` | a third number to correct, and rows that see nothing | 8 |
#
# The ideas are explained in [chapter 11](../../book/11_online_softmax.md). Fill in each cell that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `merge`
#
# **A worked example first**, in plain Python: the *sum of powers of two* `2**a + 2**b + …`, kept as a
# pair. The largest exponent so far is `m`, and `s` is the sum divided by `2**m`. When a larger
# exponent comes, `m` moves up and the old sum is scaled down to the new unit. No number on the way
# is large, however large the exponents are.

# %% tags=["active-ipynb"]
# m, s = float("-inf"), 0.0
# for exponent in [3, 1, 2000, 1999]:
#     new_m = max(m, exponent)
#     s = s * 2.0 ** (m - new_m) + 2.0 ** (exponent - new_m)
#     m = new_m
#     print(f"after {exponent:4}: the sum is {s} times 2 to the power of {m}")

# %% [markdown]
# **Your task.** Join the pairs of two parts of a row. A pair (m, l) says: the largest entry of the
# part is m, and the sum of exp(x - m) over its entries is l. The pair of both parts together is
#
# ```python
# def merge_spec(m1, l1, m2, l2):     # four tensors of one shape, float32
#     m = torch.maximum(m1, m2)
#     l = l1 * torch.exp(m1 - m) + l2 * torch.exp(m2 - m)
#     return m, l                     # but right for empty parts as well
# ```
#
# - Plain PyTorch, element by element: no kernel yet.
# - A part without entries has the pair (-inf, 0). Joined with another pair it changes nothing, and
#   two empty parts are empty.
# - Return a tuple `(m, l)` of new tensors.
#
# <details>
# <summary>Hint 1: what goes wrong with the specification</summary>
#
# For two empty parts m is -inf, and -inf - (-inf) is NaN.
#
# </details>
#
# <details>
# <summary>Hint 2: a number to subtract</summary>
#
# Any finite number will do where m is -inf: exp(-inf - 0) is 0, and 0 * 0 is the sum of nothing.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `m` is the elementwise maximum.
# 2. `base = torch.where(m == float("-inf"), 0.0, m)`.
# 3. `l` as above, with `base` in place of `m`.
#
# </details>


# %% nbgrader={"grade_id": "merge", "solution": true}
def merge(m1, l1, m2, l2):
    """Return the pair (m, l) of two parts of a row, from their pairs (m1, l1) and (m2, l2)."""
    ### BEGIN SOLUTION
    m = torch.maximum(m1, m2)
    base = torch.where(m == float("-inf"), 0.0, m)  # -inf - (-inf) would be NaN
    return m, l1 * torch.exp(m1 - base) + l2 * torch.exp(m2 - base)
    ### END SOLUTION


# %% [markdown]
# Look before you check: a row of a hundred entries in three parts, joined in two orders.

# %% tags=["active-ipynb"]
# x = torch.linspace(-9, 9, 100)
# parts = [(p.max(), torch.exp(p - p.max()).sum()) for p in x.split(40)]
# print("from the left: ", merge(*merge(*parts[0], *parts[1]), *parts[2]))
# print("from the right:", merge(*parts[0], *merge(*parts[1], *parts[2])))
# print("all at once:   ", (x.max(), torch.exp(x - x.max()).sum()))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "merge-check", "grade": true}
# check(merge)

# %% [markdown]
# ## Step 2: `online_softmax`
#
# The same in a kernel: a row is a stream of blocks, and the running pair takes in one block after the
# other. The specification, in PyTorch:
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
# ## Step 3: `weighted_mean`
#
# The mean of `v` with the softmax of a row as weights, **in one pass**: the row is read once. This is
# attention with one query a row and one number a key; chapter 12 only makes both of them wider.
#
# ```python
# def weighted_mean_spec(x, v):             # x: (R, C), v: (C,), both float16, bfloat16 or float32
#     p = torch.softmax(x.float(), dim=1)   # zeros, not NaN, where the whole row is -inf
#     return (p @ v.float()).to(x.dtype)    # (R,)
# ```
#
# - `x` and `v` may be any views: use their strides. Arithmetic is float32.
# - A row in which every entry is `-inf` gives **0**: it sees no key.
# - **Given:** the wrapper, the row of a program, the pointers.
# - **Yours:** the loop, and the last line before the store.
#
# <details>
# <summary>Hint 1: what is carried from block to block</summary>
#
# Three numbers: `m`, `l` and `acc`, the sum of exp(x - m) * v so far. When m rises, `acc` is in the
# old unit, exactly as `l` is.
#
# </details>
#
# <details>
# <summary>Hint 2: the end</summary>
#
# The mean is `acc / l`. For a row of nothing but -inf both are 0: divide by 1 there.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. Before the loop `m` is -inf, `l` and `acc` are 0, all of them float32.
# 2. Load a block of `x` with `other=float("-inf")`, a block of `v` with `other=0.0`, both to float32.
# 3. `new_m`, `base` as in step 2; `p = tl.exp(x - base)`, `alpha = tl.exp(m - base)`.
# 4. `l = l * alpha + tl.sum(p, axis=0)`, `acc = acc * alpha + tl.sum(p * v, axis=0)`, `m = new_m`.
# 5. After the loop store `acc / tl.where(l == 0, 1.0, l)`.
#
# </details>


# %% nbgrader={"grade_id": "weighted_mean", "solution": true}
@triton.jit
def weighted_mean_kernel(
    x_ptr, v_ptr, out_ptr, C, stride_r, stride_c, stride_v, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    # One loop: maximum, sum and weighted sum together. Then one store.
    ### BEGIN SOLUTION
    m = tl.full((), float("-inf"), tl.float32)
    l = tl.full((), 0.0, tl.float32)
    acc = tl.full((), 0.0, tl.float32)
    for start in range(0, C, BLOCK):
        in_row = cols < C - start
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=in_row, other=float("-inf"))
        v = tl.load(v_ptr + (start + cols) * stride_v, mask=in_row, other=0.0)
        x = x.to(tl.float32)
        new_m = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(new_m == float("-inf"), 0.0, new_m)
        p = tl.exp(x - base)
        alpha = tl.exp(m - base)  # takes what was summed before to the new maximum
        l = l * alpha + tl.sum(p, axis=0)
        acc = acc * alpha + tl.sum(p * v.to(tl.float32), axis=0)
        m = new_m
    tl.store(out_ptr + row, acc / tl.where(l == 0.0, 1.0, l))  # 0 / 1 for a row of -inf
    ### END SOLUTION


def weighted_mean(x, v):
    """Return the mean of v under the softmax of each row of x, (R,), in the dtype of x."""
    R, C = x.shape
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    block = min(triton.next_power_of_2(C), 2048)
    weighted_mean_kernel[(R,)](x, v, out, C, *x.stride(), *v.stride(), BLOCK=block)
    return out


# %% [markdown]
# Look before you check. The second row sees only its first two keys, the third row none.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# low = float("-inf")
# x = torch.tensor([[0.0, 0, 0, 0], [0, 0, low, low], [low] * 4], device=device)
# v = torch.tensor([1.0, 2, 3, 4], device=device)
# print(weighted_mean(x, v))          # 2.5, 1.5, 0

# %% tags=["active-ipynb"] nbgrader={"grade_id": "weighted_mean-check", "grade": true}
# check(weighted_mean)

# %% [markdown]
# ## If you want more
#
# - Each block costs two reductions over all lanes. Keep `m` and `l` as blocks instead, one pair a
#   lane, and join the lanes once at the end with what you wrote in step 1. Which costs grow, and
#   which shrink?
# - Two programs a row, each with half of it, and `merge` for their results: when is that faster?
