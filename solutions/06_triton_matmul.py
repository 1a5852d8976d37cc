# %% [markdown]
# # Triton matmul
#
# Three kernels, each adding one idea to the one before:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `tile_matmul(a, b)` | the loop over K, `tl.dot`, the accumulator | 6 |
# | 2 | `triton_matmul(a, b)` | a grid of tiles: any shape, any strides | 10 |
# | 3 | `linear_gelu(x, w, bias)` | a transposed operand and a fused epilogue | 8 |
#
# The ideas are explained in [chapter 6](../../book/06_triton_matmul.md). Fill in each cell that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `tile_matmul`
#
# **Worked on the page:** a matrix times a vector, [the loop over K](../../book/06_triton_matmul.md#ch6-k-loop).
#
# One program multiplies a strip of 32 rows by a strip of 32 columns. K is any length from 1.
#
# ```python
# def tile_matmul_spec(a, b):         # a: (32, K), b: (K, 32), both float16 or both float32
#     assert a.shape[0] == 32 and b.shape[1] == 32
#     assert a.shape[1] == b.shape[0] and a.dtype == b.dtype
#     return a.float() @ b.float()    # (32, 32), float32, contiguous
# ```
#
# - Sum in float32. `a` and `b` may be transposed or sliced views: their strides say so.
# - **Given:** the launch, pointers to the first tile of A and of B, and those to C.
# - **Yours:** the accumulator, the loop, its masks, the store.
#
# <details>
# <summary>Hint 1: what one turn of the loop does</summary>
#
# It loads a tile of A (32 rows, BLOCK_K columns) and a tile of B (BLOCK_K rows, 32 columns), adds
# their product to the accumulator, and moves both sets of pointers BLOCK_K further along K.
#
# </details>
#
# <details>
# <summary>Hint 2: the last turn</summary>
#
# With K = 41 and BLOCK_K = 32 the second turn finds only 9 columns of A and 9 rows of B. The
# missing ones must count as zero, so both loads need `mask=` and `other=0.0`. In the turn that
# starts at `k`, `K - k` of the positions `ks` exist.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `acc`: a (BLOCK, BLOCK) tile of zeros in float32 (`tl.zeros`).
# 2. `for k in range(0, K, BLOCK_K):`
# 3. `in_k = ks < K - k`. A's mask is `in_k[None, :]`, B's is `in_k[:, None]`.
# 4. Load both tiles, then `acc = tl.dot(a, b, acc)`.
# 5. Add `k_step * stride_ak` to `a_ptrs`. Add `k_step` times its own stride to `b_ptrs`.
# 6. After the loop, store `acc` at `c_ptrs`. All 32 x 32 elements exist: no mask.
#
# </details>


# %% nbgrader={"grade_id": "tile_matmul", "solution": true}
@triton.jit
def tile_matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # An index times a stride can pass 2**31, where int32 wraps round to a negative offset.
    # So every index that meets a stride is int64.
    idx = tl.arange(0, BLOCK).to(tl.int64)  # rows of A, columns of B
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    k_step = tl.cast(BLOCK_K, tl.int64)
    a_ptrs = a_ptr + idx[:, None] * stride_am + ks[None, :] * stride_ak
    b_ptrs = b_ptr + ks[:, None] * stride_bk + idx[None, :] * stride_bn
    c_ptrs = c_ptr + idx[:, None] * BLOCK + idx[None, :]  # C is contiguous: strides BLOCK and 1
    # A float32 accumulator; a loop over K that adds one product of tiles a turn; one store.
    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        in_k = ks < K - k
        a = tl.load(a_ptrs, mask=in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += k_step * stride_ak
        b_ptrs += k_step * stride_bk
    tl.store(c_ptrs, acc)
    ### END SOLUTION


def tile_matmul(a, b):
    """Return a @ b in float32, for a of shape (32, K) and b of shape (K, 32)."""
    K = a.shape[1]
    c = torch.empty((32, 32), device=a.device, dtype=torch.float32)
    tile_matmul_kernel[(1,)](a, b, c, K, *a.stride(), *b.stride(), BLOCK=32, BLOCK_K=32)
    return c


# %% [markdown]
# Look before you are graded. K = 33 is one full turn and a tail of one. The largest difference
# should be tiny, a few millionths on a CPU.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# a = torch.randn(32, 33, device=device)
# b = torch.randn(33, 32, device=device)
# c = tile_matmul(a, b)
# print(c[:2, :4])
# print("largest difference:", (c - a @ b).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "tile_matmul-check", "grade": true}
# check(tile_matmul)

# %% [markdown]
# ## Step 2: `triton_matmul`
#
# **Worked on the page:** a table of squared distances, [the output](../../book/06_triton_matmul.md#ch6-output).
#
# The same loop for matrices of any size. Each program computes one tile of C.
#
# ```python
# def triton_matmul_spec(a, b):       # a: (M, K), b: (K, N), one dtype: float16, bfloat16, float32
#     assert a.shape[1] == b.shape[0] and a.dtype == b.dtype
#     c = a.float() @ b.float()       # sums in float32
#     return c.to(a.dtype)            # (M, N), contiguous, in the input's dtype
# ```
#
# - Any M, N and K, any strides. M or N may be 0: then the grid is empty and nothing runs.
# - **Given:** the wrapper, the map from program number to tile, the row and column numbers.
# - **Yours:** pointers, accumulator, loop, masks on M, N and K, the store.
#
# <details>
# <summary>Hint 1: what is new</summary>
#
# `rows` and `cols` play the part that `idx` played, and they can lie outside of the matrix. So A's
# load also asks for `rows < M`, B's for `cols < N`, and the store for both.
#
# </details>
#
# <details>
# <summary>Hint 2: two conditions in one mask</summary>
#
# A tile of A is (BLOCK_M, BLOCK_K): a condition on rows is a column `[:, None]`, a condition on K is
# a row `[None, :]`, and `&` joins them. C has strides as well: `stride_cm` and `stride_cn`.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `a_ptrs` and `b_ptrs` as in step 1, with `rows` for A and `cols` for B.
# 2. `acc`: (BLOCK_M, BLOCK_N) zeros in float32.
# 3. The loop of step 1. A's mask is `(rows < M)[:, None] & in_k[None, :]`, B's is
#    `in_k[:, None] & (cols < N)[None, :]`.
# 4. `c_ptrs` from `rows`, `cols` and C's two strides.
# 5. Convert `acc` to `c_ptr.dtype.element_ty`, and store it with the mask
#    `(rows < M)[:, None] & (cols < N)[None, :]`.
#
# </details>


# %% nbgrader={"grade_id": "triton_matmul", "solution": true}
@triton.jit
def matmul_kernel(
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
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # Programs are numbered along the rows of tiles of C.
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid = tl.program_id(0)
    pid_m = pid // tiles_n
    pid_n = pid % tiles_n
    # int64, as in step 1: these indices meet strides.
    rows = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    k_step = tl.cast(BLOCK_K, tl.int64)
    # Pointers; a float32 accumulator; the loop over K; one masked store in C's dtype.
    ### BEGIN SOLUTION
    a_ptrs = a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak
    b_ptrs = b_ptr + ks[:, None] * stride_bk + cols[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        in_k = ks < K - k
        a = tl.load(a_ptrs, mask=(rows < M)[:, None] & in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None] & (cols < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += k_step * stride_ak
        b_ptrs += k_step * stride_bk
    c_ptrs = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    in_c = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=in_c)
    ### END SOLUTION


def triton_matmul(a, b):
    """Return a @ b in the dtype of a, summed in float32."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    # 128 bytes of K a turn: 64 elements of 16 bits or 32 of 32 bits. Either way a tile of A and a
    # tile of B take 32 KB, and three turns in flight at most 96 KB: it fits GPUs from sm_80 on.
    tile = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128 // a.element_size()}
    # One axis only: the second axis of a grid stops at 65,535 programs.
    grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)
    strides = (*a.stride(), *b.stride(), *c.stride())
    matmul_kernel[grid](a, b, c, M, N, K, *strides, **tile, num_warps=8, num_stages=3)
    return c


# %% [markdown]
# Look first: an odd shape, larger than a tile each way, and `b` transposed.

# %% tags=["active-ipynb"]
# a = torch.randn(130, 70, device=device)
# b = torch.randn(140, 70, device=device).T
# c = triton_matmul(a, b)
# print(c.shape, c.dtype, "contiguous:", c.is_contiguous())
# print("largest difference:", (c - a @ b).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "triton_matmul-check", "grade": true}
# check(triton_matmul)

# %% [markdown]
# ## Step 3: `linear_gelu`
#
# **Worked on the page:** ReLU with a bias for each row, [the epilogue](../../book/06_triton_matmul.md#ch6-epilogue).
#
# A linear layer followed by GELU, in one kernel. The product never goes to memory.
#
# ```python
# def linear_gelu_spec(x, w, bias):   # x: (M, K), w: (N, K), bias: (N,), one dtype as in step 2
#     y = x.float() @ w.float().T + bias.float()
#     y = 0.5 * y * (1 + torch.erf(y / 2**0.5))
#     return y.to(x.dtype)            # (M, N), contiguous
# ```
#
# - Product, bias and GELU in float32. Convert once, at the end.
# - `w` is stored (N, K). Do not transpose it in memory: point at it with its strides.
# - **Given:** the wrapper, the row and column numbers, the pointers to X and to the output.
# - **Yours:** the pointers to W, the loop of step 2, then bias, GELU and the store.
#
# <details>
# <summary>Hint 1: W read as its transpose</summary>
#
# The dot needs a tile of shape (BLOCK_K, BLOCK_N). Its element (k, n) is `w[n, k]`, which lies at
# `k * stride_wk + n * stride_wn`.
#
# </details>
#
# <details>
# <summary>Hint 2: after the loop</summary>
#
# `acc` holds x @ w.T for this tile. Load the biases of the columns `cols` (a vector, with a mask),
# convert them to float32 and add them to every row: `bias[None, :]`. GELU is plain arithmetic on
# the tile, with `tl.erf`.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `w_ptrs = w_ptr + ks[:, None] * stride_wk + cols[None, :] * stride_wn`
# 2. The accumulator and the loop of step 2, with `x` and `w` for `a` and `b`.
# 3. `bias = tl.load(bias_ptr + cols * stride_bias, mask=cols < N, other=0.0)`
# 4. `y = acc + bias.to(tl.float32)[None, :]`
# 5. `y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))`; the number is 1 / sqrt(2).
# 6. Store `y` as in step 2. The output is contiguous: row stride N, column stride 1.
#
# </details>


# %% nbgrader={"grade_id": "linear_gelu", "solution": true}
@triton.jit
def linear_gelu_kernel(
    x_ptr,
    w_ptr,
    bias_ptr,
    out_ptr,
    M,
    N,
    K,
    stride_xm,
    stride_xk,
    stride_wn,
    stride_wk,
    stride_bias,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid = tl.program_id(0)
    rows = (pid // tiles_n).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (pid % tiles_n).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    k_step = tl.cast(BLOCK_K, tl.int64)
    x_ptrs = x_ptr + rows[:, None] * stride_xm + ks[None, :] * stride_xk
    out_ptrs = out_ptr + rows[:, None] * N + cols[None, :]
    # Pointers to W as its transpose; the loop of step 2; bias and GELU in float32; the store.
    ### BEGIN SOLUTION
    w_ptrs = w_ptr + ks[:, None] * stride_wk + cols[None, :] * stride_wn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        in_k = ks < K - k
        x = tl.load(x_ptrs, mask=(rows < M)[:, None] & in_k[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=in_k[:, None] & (cols < N)[None, :], other=0.0)
        acc = tl.dot(x, w, acc)
        x_ptrs += k_step * stride_xk
        w_ptrs += k_step * stride_wk
    bias = tl.load(bias_ptr + cols * stride_bias, mask=cols < N, other=0.0)
    y = acc + bias.to(tl.float32)[None, :]
    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))  # 1 / sqrt(2)
    in_out = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(out_ptrs, y.to(out_ptr.dtype.element_ty), mask=in_out)
    ### END SOLUTION


def linear_gelu(x, w, bias):
    """Return gelu(x @ w.T + bias) in the dtype of x, computed in float32."""
    M, K = x.shape
    N = w.shape[0]
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    tile = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128 // x.element_size()}  # as in step 2
    grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)
    strides = (*x.stride(), *w.stride(), *bias.stride())
    linear_gelu_kernel[grid](x, w, bias, out, M, N, K, *strides, **tile, num_warps=8, num_stages=3)
    return out


# %% [markdown]
# Look first, against PyTorch's own two steps.

# %% tags=["active-ipynb"]
# x = torch.randn(40, 70, device=device)
# w = torch.randn(50, 70, device=device)
# bias = torch.randn(50, device=device)
# y = linear_gelu(x, w, bias)
# expected = torch.nn.functional.gelu(torch.nn.functional.linear(x, w, bias))
# print("largest difference:", (y - expected).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "linear_gelu-check", "grade": true}
# check(linear_gelu)
