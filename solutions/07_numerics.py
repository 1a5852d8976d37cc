# %% [markdown]
# # Numerics
#
# One kernel, and one promise: float32 in, float32 out, with the accuracy of float32.
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `ieee_matmul(a, b)` | the precision of `tl.dot` | 8 |
#
# Fill in the cell that says `YOUR CODE HERE`, delete its `raise` line, look at a small result, then
# run the check below it. You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `ieee_matmul`
#
# A float32 has 24 significant bits. On a GPU `tl.dot` cuts float32 tiles to TF32 unless it is told
# otherwise, and TF32 keeps 11 of them: tensor cores are fast because they multiply short numbers.
# The result still says `torch.float32`. This step asks for all the bits.
#
# ```python
# def ieee_matmul_spec(a, b):         # a: (M, K), b: (K, N), both float32
#     assert a.shape[1] == b.shape[0] and a.dtype == b.dtype == torch.float32
#     return a @ b                    # (M, N), float32, contiguous; no TF32
# ```
#
# - Any M, N and K, any strides. M or N may be 0: then the grid is empty and nothing runs.
# - Products and sums in IEEE float32. Each element may be off by a few roundings of float32.
# - The interpreter on a CPU multiplies in full float32 whatever you ask for. The difference shows on
#   a GPU, and in the code that the compiler makes for one.
# - **Given:** the wrapper, row and column numbers, the pointers.
# - **Yours:** accumulator, loop, masks, and the precision of the product.
#
# <details>
# <summary>Hint 1: where the bits are lost</summary>
#
# Loads, stores and the accumulator keep every bit of a float32. Only `tl.dot` cuts its operands. It
# takes an argument that says how precise it has to be.
#
# </details>
#
# <details>
# <summary>Hint 2: the argument</summary>
#
# `input_precision` is `"tf32"` by default. `"tf32x3"` splits each operand in two and multiplies three
# times: nearly all bits, but not all. `"ieee"` uses ordinary float32 arithmetic.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `acc`: (BLOCK_M, BLOCK_N) zeros in float32.
# 2. The loop over K as in chapter 6, with both masks and `other=0.0`.
# 3. `acc = tl.dot(a, b, acc, input_precision="ieee")`
# 4. Advance both pointers. The store is given.
#
# </details>


# %% nbgrader={"grade_id": "ieee_matmul", "solution": true}
@triton.jit
def ieee_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid = tl.program_id(0)
    # int64: these indices meet strides, and the product can pass 2**31.
    rows = (pid // tiles_n).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (pid % tiles_n).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    k_step = tl.cast(BLOCK_K, tl.int64)
    a_ptrs = a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak
    b_ptrs = b_ptr + ks[:, None] * stride_bk + cols[None, :] * stride_bn
    # A float32 accumulator `acc`, and the loop over K. What must `tl.dot` be told?
    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        in_k = ks < K - k
        a = tl.load(a_ptrs, mask=(rows < M)[:, None] & in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None] & (cols < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += k_step * stride_ak
        b_ptrs += k_step * stride_bk
    ### END SOLUTION
    in_c = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=in_c)


def ieee_matmul(a, b):
    """Return a @ b in float32, with products and sums in IEEE float32."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    # Without tensor cores the operands of a dot lie in registers, beside the accumulator: the tile
    # is smaller than in chapter 6, and short along K.
    tile = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 16}
    grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)
    strides = (*a.stride(), *b.stride())
    ieee_matmul_kernel[grid](a, b, c, M, N, K, *strides, **tile, num_warps=4, num_stages=3)
    return c


# %% [markdown]
# Look first. 2049 has 12 significant bits, one more than TF32 keeps. The two products below nearly
# cancel: float32 gives 1.0 exactly, TF32 a number in the thousands. On a CPU it is 1.0 either way.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# a = torch.tensor([[2049.0, -2048.0]], device=device)
# b = torch.tensor([[2049.0], [2050.0]], device=device)
# print("2049 * 2049 - 2048 * 2050 =", ieee_matmul(a, b).item())
# a, b = torch.randn(70, 130, device=device), torch.randn(130, 90, device=device)
# error = (ieee_matmul(a, b).double() - a.double() @ b.double()).abs().max().item()
# print("largest error of a sum of 130 products:", error)

# %% tags=["active-ipynb"] nbgrader={"grade_id": "ieee_matmul-check", "grade": true}
# check(ieee_matmul)
