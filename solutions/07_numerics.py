# %% [markdown]
# # Numerics
#
# What a float32 loses on the way through a GPU, and how to keep it:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `tf32_round(x)` | a number is bits, and rounding is arithmetic on them | 5 |
# | 2 | `tf32_matmul(a, b)` | what a tensor core makes of float32, on any machine | 6 |
# | 3 | `within_rounding(c, a, b)` | a test whose tolerance comes from theory | 6 |
# | 4 | `ieee_matmul(a, b)` | all bits of float32, where they are promised | 8 |
#
# The ideas are explained in [chapter 7](../../book/07_numerics.md). Fill in each cell that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `tf32_round`
#
# A float32 is 32 bits: one for the sign, 8 for the exponent, 23 for the fraction. TF32 has the same
# sign and exponent, and only the first 10 bits of the fraction. It is kept in 32 bits whose last 13
# are 0.
#
# **A worked kernel first.** It cuts float32 numbers to bfloat16, the first 16 of the 32 bits.
# `x.to(tl.uint32, bitcast=True)` is the same 32 bits, read as a whole number. Without `bitcast=True` it
# would be the number converted, 2 for 2.7. `>> 16 << 16` drops the last 16 bits and puts zeros there.

# %% tags=["active-ipynb"]
# @triton.jit
# def cut_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
#     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
#     x = tl.load(x_ptr + i, mask=i < n)
#     bits = x.to(tl.uint32, bitcast=True) >> 16 << 16
#     tl.store(out_ptr + i, bits.to(tl.float32, bitcast=True), mask=i < n)
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.tensor([1.0, 1.003, 1.007, -1.007, 3.14159], device=device)
# out = torch.empty_like(x)
# cut_kernel[(1,)](x, out, 5, BLOCK=8)
# print(out.tolist())
# print(x.bfloat16().tolist(), "rounded to the nearest instead")

# %% [markdown]
# **Your task.** To *round* to TF32: to the nearest number that it has. Half way between two, the one
# whose last bit is 0 counts as nearest ("ties to even"). The specification, in Python:
#
# ```python
# def tf32_round_spec(v):                  # one number; yours takes a tensor of them
#     step = 2.0 ** (math.frexp(v)[1] - 11)     # distance of the TF32 numbers around v
#     return round(v / step) * step             # Python's round sends ties to even
# ```
#
# - `x`: (N,) float32, contiguous; N may be 0. The result is a new (N,) float32.
# - Numbers are 0 or lie between 2⁻¹²⁶ and 2¹²⁷ in absolute value.
# - **Given:** the wrapper with the launch.
# - **Yours:** `to_tf32` and the kernel. A kernel may call a function that is marked `@triton.jit`, too:
#   it takes tiles and, unlike a kernel, returns one. Step 2 calls yours again.
#
# <details>
# <summary>Hint 1: how to round with whole numbers</summary>
#
# To round a price to whole euros, add 50 cents and drop the cents. Here the 13 dropped bits are the
# cents: half is `1 << 12`, or 0x1000. A carry runs from the fraction into the exponent, and that is
# right: the next number above 1.111…1 · 2ᵉ is 1.0 · 2ᵉ⁺¹.
#
# </details>
#
# <details>
# <summary>Hint 2: ties</summary>
#
# Adding half sends every tie up. Adding one less than half, 0xFFF, sends every tie down. To send ties
# to even, add 0xFFF and the last bit that stays, `(bits >> 13) & 1`: it is 1 where the tie must go up.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. In `to_tf32`: the bits, as in the worked kernel; `last = (bits >> 13) & 1`.
# 2. `bits + 0xFFF + last`, then shifted by 13 to the right and back; return it as float32, by bitcast.
# 3. In the kernel: offsets and mask; load; `to_tf32`; store with the mask.
#
# </details>


# %% nbgrader={"grade_id": "tf32_round", "solution": true}
@triton.jit
def to_tf32(x):
    # A tile of float32 in, the nearest TF32 numbers out, ties to even.
    ### BEGIN SOLUTION
    bits = x.to(tl.uint32, bitcast=True)
    last = (bits >> 13) & 1  # the last bit that stays
    return ((bits + 0xFFF + last) >> 13 << 13).to(tl.float32, bitcast=True)
    ### END SOLUTION


@triton.jit
def tf32_round_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    # Offsets, mask, load, to_tf32, store.
    ### BEGIN SOLUTION
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, to_tf32(x), mask=i < n)
    ### END SOLUTION


def tf32_round(x):
    """Return x, shape (N,) and float32, rounded to the nearest TF32 numbers, ties to even."""
    out = torch.empty_like(x)
    tf32_round_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


# %% [markdown]
# Look before you check. The distance of two TF32 numbers between 1 and 2 is 2⁻¹⁰, here 1 in the last
# line.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = 1 + torch.tensor([0.0, 0.4, 0.5, 0.6, 1.0, 1.5, 2.5, 1023.9], device=device) / 1024
# print(((tf32_round(x) - 1) * 1024).tolist(), "should be 0, 0, 0, 1, 1, 2, 2, 1024")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "tf32_round-check", "grade": true}
# check(tf32_round)

# %% [markdown]
# ## Step 2: `tf32_matmul`
#
# **A worked kernel first.** It computes the dot product of two vectors as hardware for float16 does:
# both operands are rounded to float16, their products are exact in float32, and the sum is float32.

# %% tags=["active-ipynb"]
# @triton.jit
# def half_dot_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
#     total = tl.zeros((BLOCK,), tl.float32)
#     for start in range(0, n, BLOCK):
#         i = start + tl.arange(0, BLOCK)
#         x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float16)
#         y = tl.load(y_ptr + i, mask=i < n, other=0.0).to(tl.float16)
#         total += x.to(tl.float32) * y.to(tl.float32)
#     tl.store(out_ptr, tl.sum(total, axis=0))
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x, y = torch.randn(2, 300, device=device)
# out = torch.empty(1, device=device)
# half_dot_kernel[(1,)](x, y, out, 300, BLOCK=128)
# exact = (x.double() * y.double()).sum()
# half = (x.half().double() * y.half().double()).sum()
# print("distance to the exact product:       ", (out - exact).abs().item())
# print("to that of the rounded operands:     ", (out - half).abs().item())

# %% [markdown]
# **Your task.** A matrix product as a tensor core computes it for float32 inputs, with TF32 operands,
# in a form that gives the same numbers on every machine:
#
# ```python
# def tf32_matmul_spec(a, b):          # a: (M, K), b: (K, N), both float32
#     a, b = nearest_tf32(a), nearest_tf32(b)    # as step 1 rounds
#     return a @ b                     # (M, N), float32, contiguous; products and sums in float32
# ```
#
# - Any M, N and K, any strides. M or N may be 0.
# - A product of two TF32 numbers has at most 22 significant bits, so float32 holds it exactly.
# - Real tensor cores do not agree on the rounding: unless they are told to round, they drop the 13
#   bits. That is why this step rounds by itself and multiplies the result in full.
# - **Given:** the wrapper, row and column numbers, the pointers. **Yours:** accumulator, loop, masks,
#   and the rounding of both tiles by your `to_tf32`.
#
# <details>
# <summary>Hint 1: what is rounded, and when</summary>
#
# The operands, after they are loaded. Not the products, not the accumulator, not the result.
#
# </details>
#
# <details>
# <summary>Hint 2: the loop</summary>
#
# It is that of chapter 6, and one call more for each operand. `tl.dot` is told
# `input_precision="ieee"`, so that nothing else happens to the tiles on their way.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `acc`: (BLOCK_M, BLOCK_N) zeros in float32.
# 2. The loop over K as in chapter 6, with both masks and `other=0.0`.
# 3. `acc = tl.dot(to_tf32(a), to_tf32(b), acc, input_precision="ieee")`
# 4. Advance both pointers. The store is given.
#
# </details>


# %% nbgrader={"grade_id": "tf32_matmul", "solution": true}
@triton.jit
def tf32_matmul_kernel(
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
    # A float32 accumulator `acc`, and the loop over K. Round both tiles before they are multiplied.
    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        in_k = ks < K - k
        a = tl.load(a_ptrs, mask=(rows < M)[:, None] & in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None] & (cols < N)[None, :], other=0.0)
        acc = tl.dot(to_tf32(a), to_tf32(b), acc, input_precision="ieee")
        a_ptrs += k_step * stride_ak
        b_ptrs += k_step * stride_bk
    ### END SOLUTION
    in_c = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=in_c)


def tf32_matmul(a, b):
    """Return the product of a and b, each rounded to TF32, in float32."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    tile = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 16}
    grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)
    strides = (*a.stride(), *b.stride())
    tf32_matmul_kernel[grid](a, b, c, M, N, K, *strides, **tile, num_warps=4)
    return c


# %% [markdown]
# Look before you check. 2049 has 12 significant bits, one more than TF32 keeps: it becomes 2048.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# a = torch.tensor([[2049.0, -2048.0]], device=device)
# b = torch.tensor([[2049.0], [2050.0]], device=device)
# print(tf32_matmul(a, b).item(), "should be 2048 * 2048 - 2048 * 2050 = -4096; exact is 1")
# a, b = torch.randn(70, 130, device=device), torch.randn(130, 90, device=device)
# error = (tf32_matmul(a, b).double() - a.double() @ b.double()).abs().max().item()
# print("largest error of a sum of 130 products:", error)

# %% tags=["active-ipynb"] nbgrader={"grade_id": "tf32_matmul-check", "grade": true}
# check(tf32_matmul)

# %% [markdown]
# ## Step 3: `within_rounding`
#
# This time you write the test. It is given a result `c` and says whether `c` can be the product of `a`
# and `b`, computed as this course asks: products and sums in float32, in any order, and one rounding
# at the end, to the type of `c`.
#
# **A worked test first.** It does the same for the sum of a float32 vector. With rounding errors of
# either sign a sum of n terms is off by some √n roundings; 4 of them to be safe. One rounding is
# 2⁻²⁴ of the numbers that are added, so the measure is the sum of their *absolute values*: the sum
# itself may be near zero while its terms are not.

# %% tags=["active-ipynb"]
# def sum_within_rounding(s, x):
#     x = x.double()                       # 53 bits: exact enough to judge 24
#     error = (s.double() - x.sum()).abs()
#     return bool(error <= 4 * 2**-24 * len(x) ** 0.5 * x.abs().sum())
#
#
# def one_by_one(x, dtype):
#     total = torch.zeros((), dtype=dtype)
#     for entry in x.to(dtype):
#         total += entry
#     return total
#
#
# x = torch.arange(1000) % 7 - 2.9
# print("summed by torch:        ", sum_within_rounding(x.sum(), x))
# print("one by one, in float32: ", sum_within_rounding(one_by_one(x, torch.float32), x))
# print("one by one, in float16: ", sum_within_rounding(one_by_one(x, torch.float16), x))
# print("without the last entry: ", sum_within_rounding(x[:-1].sum(), x))

# %% [markdown]
# **Your task.**
#
# - `a` is (M, K), `b` is (K, N), `c` is (M, N), all three float16 or all three float32.
# - The result is a Python `bool`: True for a right `c`, False for a wrong one.
# - Right results were summed in float32 in different orders. Wrong ones have sums in float16, operands
#   cut to TF32, a product left out, one element off, or a NaN.
# - Numbers may be small or large, rows may differ in size, sums may be long or nearly cancel. The
#   constant is yours: 2, 4 or 8 times √K roundings, or the rigorous K. Both tell right from wrong.
# - This step is plain PyTorch on the CPU; any operator is welcome.
#
# <details>
# <summary>Hint 1: two errors, two terms</summary>
#
# An element is summed, then stored. What can the sum be off by? What does storing add in float16,
# and what in float32?
#
# </details>
#
# <details>
# <summary>Hint 2: the measure of each</summary>
#
# The sum: roundings of 2⁻²⁴, measured by `a.abs() @ b.abs()` in float64, an (M, N) matrix with a
# number for each element. The storing: half of the last bit of the result, `u * exact.abs()`, where
# `u` is `torch.finfo(c.dtype).eps / 2`.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. Make `a` and `b` float64; `exact` is their product, `size` that of their absolute values.
# 2. `u` is half of `torch.finfo(c.dtype).eps`.
# 3. `bound`: `u * exact.abs()` plus 4 times 2⁻²⁴ times the root of K times `size`.
# 4. Return whether *all* elements of `(c.double() - exact).abs()` are at most their bound. Asked the
#    other way round, whether any is above it, NaN would pass. `bool(...)` makes a bool of the tensor.
#
# </details>


# %% nbgrader={"grade_id": "within_rounding", "solution": true}
def within_rounding(c, a, b):
    """Whether c can be a @ b, summed in float32 and rounded to the type of c."""
    # The exact product, the bound of each element, the comparison.
    ### BEGIN SOLUTION
    a, b = a.double(), b.double()
    exact = a @ b
    size = a.abs() @ b.abs()  # what an error is measured by: the terms, not their sum
    u = torch.finfo(c.dtype).eps / 2
    bound = u * exact.abs() + 4 * 2**-24 * a.shape[1] ** 0.5 * size
    return bool(((c.double() - exact).abs() <= bound).all())
    ### END SOLUTION


# %% [markdown]
# Look before you check. Step 2 made you a wrong result to try it on.

# %% tags=["active-ipynb"]
# a, b = torch.randn(16, 64), torch.randn(64, 16)
# print("float32:", within_rounding(a @ b, a, b), "TF32:", within_rounding(tf32_matmul(a.to(device), b.to(device)).cpu(), a, b))
# a, b = a.half(), b.half()
# right = (a.float() @ b.float()).half()
# print("float16:", within_rounding(right, a, b), "all NaN:", within_rounding(right * torch.nan, a, b))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "within_rounding-check", "grade": true}
# check(within_rounding)

# %% [markdown]
# ## Step 4: `ieee_matmul`
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
