# %% [markdown]
# # First kernels
#
# Three kernels, each adding one idea to the one before:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `vector_add(x, y)` | programs, offsets, masks | 4 |
# | 2 | `scale_rows(x, s)` | two-dimensional tiles, strides | 6 |
# | 3 | `transpose(x)` | where a tile is read, and where it is written | 10 |
#
# The ideas are explained in [chapter 4](../../book/04_first_kernels.md). Fill in each cell that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `vector_add`
#
# **A worked kernel first.** It writes the negative of each of `n` numbers. Every program takes a
# block of `BLOCK` of them. Five numbers in blocks of four make two programs, and the mask keeps
# the second program off the three places past the end.

# %% tags=["active-ipynb"]
# @triton.jit
# def negate_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
#     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
#     mask = offsets < n
#     tl.store(out_ptr + offsets, -tl.load(x_ptr + offsets, mask=mask), mask=mask)
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# numbers = torch.arange(5, dtype=torch.float32, device=device)
# negated = torch.empty_like(numbers)
# negate_kernel[(2,)](numbers, negated, 5, BLOCK=4)
# negated

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def vector_add(x, y):        # two 1-D tensors of one length, any length from 0
#     out = torch.empty_like(x)
#     out[:] = x + y           # your kernel does this line
#     return out               # new, with the dtype and the device of x
# ```
#
# *Given:* the kernel's arguments, a contiguous copy where an input is not contiguous, the output
# tensor. *Yours:* the body of the kernel, and the launch.
#
# <details><summary>Hint 1: where to begin</summary>
#
# Program number `p` owns the elements `p * BLOCK` up to `(p + 1) * BLOCK - 1`. Build that block of
# offsets as in the worked kernel. The same offsets serve `x`, `y` and `out`.
# </details>
#
# <details><summary>Hint 2: the ragged end</summary>
#
# The last block may reach past `n`. Give `mask=offsets < n` to both loads *and* to the store. The
# number of programs is `n / BLOCK` rounded **up**: `triton.cdiv(n, BLOCK)`.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# ```python
# offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
# x = tl.load(x_ptr + offsets, mask=offsets < n)
# ...                                        # y in the same way, then tl.store of x + y
#
# vector_add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
# ```
# </details>


# %% nbgrader={"grade_id": "vector_add", "solution": true}
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    # The offsets of this program's block, the mask, two loads, one store.
    ### BEGIN SOLUTION
    # int64, because a vector may have more than 2**31 elements and a 32-bit offset would wrap.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)
    ### END SOLUTION


def vector_add(x, y):
    # A copy only where neighbours are not side by side in memory. Step 2 does without it.
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = out.numel()
    # How many programs? Launch them.
    ### BEGIN SOLUTION
    # Rounded up, so that the ragged end has its program. For n = 0 nothing is launched.
    grid = (triton.cdiv(n, 1024),)
    vector_add_kernel[grid](x, y, out, n, BLOCK=1024)
    ### END SOLUTION
    return out


# %% [markdown]
# Look before you check. Here is a vector of 5 and one of 2500: can you say how many programs each
# of them starts?

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# ones = torch.ones(2500, device=device)
# print(vector_add(ones[:5], ones[:5]))
# print(vector_add(ones, ones).sum(), "should be 5000")

# %% tags=["active-ipynb"] nbgrader={"grade_id": "vector_add-check", "grade": true}
# check(vector_add)

# %% [markdown]
# ## Step 2: `scale_rows`
#
# **A worked kernel first.** A column of offsets plus a row of offsets gives a grid of them. This
# one-program kernel fetches a 4 × 4 tile. The element in row *r* and column *c* lies
# `r * stride_r + c * stride_c` places after the first one. Only the strides differ between the two
# launches: the second reads the transposed view of the same memory.

# %% tags=["active-ipynb"]
# @triton.jit
# def fetch_kernel(x_ptr, out_ptr, stride_r, stride_c, BLOCK: tl.constexpr):
#     rows = tl.arange(0, BLOCK)
#     cols = tl.arange(0, BLOCK)
#     tile = tl.load(x_ptr + rows[:, None] * stride_r + cols[None, :] * stride_c)
#     tl.store(out_ptr + rows[:, None] * BLOCK + cols[None, :], tile)
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# square = torch.arange(16, device=device).reshape(4, 4)
# fetched = torch.empty_like(square)
# for view in (square, square.T):
#     fetch_kernel[(1,)](view, fetched, view.stride(0), view.stride(1), BLOCK=4)
#     print("strides", view.stride(), "\n", fetched)

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def scale_rows(x, s):        # x is (R, C) with any strides, s is (R,)
#     out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
#     out[:] = x * s[:, None]  # row r of x, times the number s[r]
#     return out               # contiguous
# ```
#
# *Given:* the arguments, which tile a program owns, and the grid. *Yours:* the rows and columns of
# the tile, the mask, the loads, the store, and the launch. `x` may be transposed, sliced, padded or
# expanded (stride 0), so use both of its strides. Do not copy it first: a copy costs as much as the
# work.
#
# <details><summary>Hint 1: where to begin</summary>
#
# Two blocks of indices as in step 1: `rows` from `tile_r` and `BLOCK_R`, `cols` from `tile_c` and
# `BLOCK_C`. Then a grid of pointers as in the worked kernel.
# </details>
#
# <details><summary>Hint 2: masks and the scale</summary>
#
# An element exists if its row **and** its column do: combine two comparisons with `&`, one made
# from `rows[:, None]` and one from `cols[None, :]`. The scales are a one-dimensional block, loaded
# with `rows` and `stride_s`; `scale[:, None]` stretches it over the columns.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# ```python
# rows = tile_r * BLOCK_R + tl.arange(0, BLOCK_R)
# cols = ...
# mask = (rows[:, None] < R) & (cols[None, :] < C)
# x = tl.load(x_ptr + rows[:, None] * stride_xr + cols[None, :] * stride_xc, mask=mask)
# scale = tl.load(s_ptr + rows * stride_s, mask=rows < R)
# ...                                        # out is contiguous: its strides are C and 1
# ```
# </details>


# %% nbgrader={"grade_id": "scale_rows", "solution": true}
@triton.jit
def scale_rows_kernel(
    x_ptr,
    s_ptr,
    out_ptr,
    R,
    C,
    stride_xr,
    stride_xc,
    stride_s,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    # Tiles are numbered row by row. An index times a stride can pass 2**31, where a 32-bit product
    # wraps round to a wrong address: the tile's numbers become int64 before anything is multiplied.
    pid = tl.program_id(0)
    tiles_c = tl.cdiv(C, BLOCK_C)
    tile_r = (pid // tiles_c).to(tl.int64)
    tile_c = (pid % tiles_c).to(tl.int64)
    # The rows and the columns of this tile, the mask, two loads, one store.
    ### BEGIN SOLUTION
    rows = tile_r * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tile_c * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (rows[:, None] < R) & (cols[None, :] < C)
    x = tl.load(x_ptr + rows[:, None] * stride_xr + cols[None, :] * stride_xc, mask=mask)
    scale = tl.load(s_ptr + rows * stride_s, mask=rows < R)
    # The output is contiguous: its row stride is C, its column stride 1.
    tl.store(out_ptr + rows[:, None] * C + cols[None, :], x * scale[:, None], mask=mask)
    ### END SOLUTION


def scale_rows(x, s):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    BLOCK_R, BLOCK_C = 32, 64
    # One axis for all tiles, because a CUDA grid may have only 65535 programs on the other two.
    grid = (triton.cdiv(R, BLOCK_R) * triton.cdiv(C, BLOCK_C),)
    # Launch the kernel, with the strides of x and of s.
    ### BEGIN SOLUTION
    strides = (x.stride(0), x.stride(1), s.stride(0))
    scale_rows_kernel[grid](x, s, out, R, C, *strides, BLOCK_R=BLOCK_R, BLOCK_C=BLOCK_C)
    ### END SOLUTION
    return out


# %% [markdown]
# Look before you check. The second call gets a transposed view of the same memory.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.arange(12, device=device).reshape(3, 4)
# print(scale_rows(x, torch.tensor([1, 10, 100], device=device)))
# print(scale_rows(x.T, torch.tensor([1, 10, 100, 1000], device=device)))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "scale_rows-check", "grade": true}
# check(scale_rows)

# %% [markdown]
# ## Step 3: `transpose`
#
# **A worked kernel first.** `tl.trans` swaps the two axes of a tile that is already loaded. That is
# one half of a transpose. This kernel has one program and one full tile, so the other half, where
# the tile must be *written*, is hidden: the only tile stays at the top left.

# %% tags=["active-ipynb"]
# @triton.jit
# def flip_tile_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
#     i = tl.arange(0, BLOCK)
#     square_offsets = i[:, None] * BLOCK + i[None, :]
#     tl.store(out_ptr + square_offsets, tl.trans(tl.load(x_ptr + square_offsets)))
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# square = torch.arange(16, device=device).reshape(4, 4)
# flipped = torch.empty_like(square)
# flip_tile_kernel[(1,)](square, flipped, BLOCK=4)
# flipped

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def transpose(x):            # x is (M, N) with any strides
#     out = torch.empty((x.shape[1], x.shape[0]), dtype=x.dtype, device=x.device)
#     out[:] = x.T             # out[n, m] = x[m, n]
#     return out               # (N, M), contiguous
# ```
#
# *Given:* the names of the arguments. *Yours:* the rest, also the output and the grid. `x` may be
# any view again, and the offsets of its elements may pass 2³¹.
#
# <details><summary>Hint 1: where to begin</summary>
#
# Load a tile of `x` exactly as in step 2, from the tile's rows and columns. Element `(m, n)` of `x`
# becomes element `(n, m)` of `out`, and `out` has rows of length `M`. So which offset does it have
# in `out`?
# </details>
#
# <details><summary>Hint 2: two ways to write it</summary>
#
# `out[n, m]` lies at `n * M + m`. Either flip the tile with `tl.trans` and build pointers with the
# columns going down, `cols[:, None] * M + rows[None, :]`; or leave the tile as it is and write it
# through `cols[None, :] * M + rows[:, None]`. The mask must have the shape of what it masks.
# </details>
#
# <details><summary>Hint 3: almost the answer</summary>
#
# ```python
# rows = (pid // tiles_n).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
# cols = (pid % tiles_n).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
# tile = tl.load(x_ptr + ..., mask=(rows[:, None] < M) & (cols[None, :] < N))
# out_mask = (cols[:, None] < N) & (rows[None, :] < M)
# tl.store(out_ptr + ..., tl.trans(tile), mask=out_mask)
# ```
# In `transpose`: an empty `(N, M)` output, `triton.cdiv(M, BLOCK) * triton.cdiv(N, BLOCK)` programs.
# </details>


# %% nbgrader={"grade_id": "transpose", "solution": true}
@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, stride_xm, stride_xn, BLOCK: tl.constexpr):
    # Which tile of x is mine? Load it, then store it where its transpose belongs.
    ### BEGIN SOLUTION
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK)
    # int64 before the strides are multiplied in: offsets of a view can pass 2**31.
    rows = (pid // tiles_n).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    cols = (pid % tiles_n).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tile = tl.load(x_ptr + rows[:, None] * stride_xm + cols[None, :] * stride_xn, mask=mask)
    # Flipped before the store, so that neighbouring lanes write neighbouring addresses of a row.
    out_mask = (cols[:, None] < N) & (rows[None, :] < M)
    tl.store(out_ptr + cols[:, None] * M + rows[None, :], tl.trans(tile), mask=out_mask)
    ### END SOLUTION


def transpose(x):
    M, N = x.shape
    # The output, the grid, the launch.
    ### BEGIN SOLUTION
    out = torch.empty((N, M), dtype=x.dtype, device=x.device)
    BLOCK = 64
    grid = (triton.cdiv(M, BLOCK) * triton.cdiv(N, BLOCK),)
    transpose_kernel[grid](x, out, M, N, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return out
    ### END SOLUTION


# %% [markdown]
# Look before you check.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.arange(6, device=device).reshape(2, 3)
# print(x, "\n", transpose(x), "\n", transpose(x.T))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "transpose-check", "grade": true}
# check(transpose)

# %% [markdown]
# ## If you want more
#
# - How many bytes must `transpose` move at least for an (M, N) tensor of fp16? Does yours move more?
# - Take a mask away and read what the check says. Then swap two strides, or round the grid down.
