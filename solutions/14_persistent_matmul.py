# %% [markdown]
# # Persistent matmul and split-K
#
# So far there was one program for each tile of C. That number rarely fits the GPU: 133 tiles on 132
# multiprocessors (SMs) take as long as 264. Two ways out, one for many tiles, one for few.
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `wave_efficiency(num_tiles, num_sms)` | what the last wave costs | 2 |
# | 2 | `persistent_matmul(a, b)` | one program an SM, each looping over tiles | 10 |
# | 3 | `split_k_matmul(a, b)` | several programs share a tile, each with a part of K | 10 |
#
# The ideas are explained in [chapter 14](../../book/14_persistent_matmul.md). Fill in each cell that says `YOUR CODE HERE`, delete its `raise` line, look at a small result, then
# run the check below it. You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import functools
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# %% [markdown]
# ## Step 1: `wave_efficiency`
#
# The share of a GPU that a number of equal tiles can use, if each SM computes one tile at a time. The
# tiles run in *waves* of `num_sms`, and a wave that is not full takes as long as a full one.
#
# ```python
# def wave_efficiency(num_tiles, num_sms):     # two positive ints
#     ...                                      # a float, above 0 and at most 1
# ```
#
# <details>
# <summary>Hint 1: an example</summary>
#
# 6 tiles on 4 SMs take two waves. Two waves have 8 places, of which 6 are used: 0.75.
#
# </details>
#
# <details>
# <summary>Hint 2: the number of waves</summary>
#
# Tiles divided by SMs, rounded up.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `waves = -(-num_tiles // num_sms)`, which rounds up.
# 2. Return the tiles divided by `waves * num_sms`.
#
# </details>


# %% nbgrader={"grade_id": "wave_efficiency", "solution": true}
def wave_efficiency(num_tiles, num_sms):
    """Return the share of the SMs' time that tiles of equal length use."""
    ### BEGIN SOLUTION
    waves = -(-num_tiles // num_sms)
    return num_tiles / (waves * num_sms)
    ### END SOLUTION


# %% tags=["active-ipynb"]
# for tiles in (132, 133, 264, 1056):
#     print(tiles, "tiles on 132 SMs:", wave_efficiency(tiles, 132))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "wave_efficiency-check", "grade": true}
# check(wave_efficiency)

# %% [markdown]
# ## Step 2: `persistent_matmul`
#
# As many programs as the GPU has SMs, or as there are tiles, if those are fewer. Program p computes
# the tiles p, p + programs, p + 2 * programs and so on, in the group-major order of chapter 8.
#
# ```python
# def persistent_matmul_spec(a, b):   # a: (M, K), b: (K, N), one dtype: float16, bfloat16, float32
#     assert a.shape[1] == b.shape[0] and a.dtype == b.dtype
#     c = a.float() @ b.float()       # sums in float32
#     return c.to(a.dtype)            # (M, N), contiguous, in the input's dtype
# ```
#
# - Any M, N and K, any strides. M or N may be 0: then the grid is empty and nothing runs.
# - **Given:** the wrapper and its choice of a tile, the map of chapter 8, and the sum of one tile.
# - **Yours:** the loop over tiles. `tile_product` and `group_major_tile` do the rest.
#
# Two things around the kernel are new. You need not touch them.
#
# - **The tile is chosen by counting waves.** `choose_tile` counts the waves of every size of tile,
#   multiplies them with the time of one, and takes the least.
# - **From sm_90 on, a tile can be fetched by a descriptor.** It holds a tensor's address, shape and
#   strides. One thread names a corner, and a copy engine brings the tile into shared memory: no
#   pointer grid, no masks, zeros for what lies outside. It asks for 16-byte alignment of the address
#   and of the rows, and neighbours in a row that are neighbours in memory. Where that does not hold,
#   on another GPU, or without one, the same kernel uses pointers.
#
# <details>
# <summary>Hint 1: what belongs inside the loop</summary>
#
# Everything that depends on the tile: its row and column, its sum, its store. Only the number of
# tiles does not.
#
# </details>
#
# <details>
# <summary>Hint 2: three numbers of a range</summary>
#
# The first tile is the program's own number. The step is the number of programs, which the kernel
# can ask for: `tl.num_programs(0)`. The end is the number of tiles.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):`. With `tl.range` in
#    place of `range`, and `flatten=DESCRIPTORS` as a fourth argument, the first loads for the next
#    tile begin while this one is stored. The result is the same.
# 2. `pid_m, pid_n = group_major_tile(tile, tiles_m, tiles_n, GROUP_M)`
# 3. `acc = tile_product(...)` over all of K, from 0 to K; its arguments are in the order of its
#    definition, and the strides are those of the kernel.
# 4. `rows` and `cols` of the tile in int64, as in chapter 8.
# 5. Store `acc` in C's dtype, masked by `rows < M` and `cols < N`. C's row stride is N.
#
# </details>


# %%
@functools.cache  # asking the driver takes longer than a small product
def sm_count(device):
    """Multiprocessors of a GPU; 4 where there is none, so that programs have several tiles there too."""
    if device.type != "cuda":
        return 4
    return torch.cuda.get_device_properties(device).multi_processor_count


@functools.cache
def shared_memory(device):
    """Bytes of shared memory that one program may use: the SM's, but for the 1 KB the system keeps."""
    if device.type != "cuda":
        return 99 * 1024
    return torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor - 1024


@functools.cache
def has_copy_engine(device):
    """Whether the GPU can fetch a tile by a descriptor: from compute capability 9.0 on."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device)[0] >= 9


# Rows and columns of a tile of C, bytes of K in a turn, stages, warps; and the time of one wave, in
# which every SM computes one such tile, as a share of that of the largest. Measured on an H200. On
# another GPU they are a guess, and only the choice can be bad, never the result.
TILES = [
    (128, 256, 128, 4, 8, 1.0),
    (128, 256, 128, 3, 8, 1.04),
    (128, 128, 128, 4, 4, 0.59),
    (128, 128, 128, 3, 4, 0.75),
    (64, 128, 256, 4, 4, 0.34),
    (64, 64, 256, 6, 4, 0.25),
    (64, 64, 128, 3, 4, 0.47),
    (16, 64, 512, 4, 4, 0.15),
    (16, 32, 512, 5, 4, 0.12),
]


def fits(tile, device):
    """Whether the operands of all stages have room at once, and C's tile beside them, where the
    copy engine already loads for the next tile while this one is stored."""
    block_m, block_n, k_bytes, stages = tile[:4]
    result = block_m * block_n if has_copy_engine(device) else 0
    return (block_m + block_n) * k_bytes * stages + result <= shared_memory(device)


@functools.cache
def choose_tile(M, N, device):
    """The tile whose waves take the least time in all, of those that fit the GPU."""

    def time(tile):
        tiles = triton.cdiv(M, tile[0]) * triton.cdiv(N, tile[1])
        return triton.cdiv(tiles, sm_count(device)) * tile[5]

    return min((tile for tile in TILES if fits(tile, device)), key=time)


def describable(x):
    """Whether a descriptor can stand for the matrix x. In float32 it would not pay: the tensor cores
    want B's tile transposed there, which takes the room of another."""
    if not has_copy_engine(x.device) or x.element_size() != 2 or x.numel() == 0:
        return False
    aligned = x.data_ptr() % 16 == 0 and x.stride(0) * x.element_size() % 16 == 0
    return aligned and x.stride(1) == 1 and x.stride(0) >= x.shape[1]


@triton.jit
def group_major_tile(tile, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    per_group = GROUP_M * tiles_n
    first_m = (tile // per_group) * GROUP_M
    height = min(tiles_m - first_m, GROUP_M)
    place = tile % per_group
    return first_m + place % height, place // height


@triton.jit
def tile_product(
    a,
    b,
    pid_m,
    pid_n,
    k_start,
    k_end,
    M,
    N,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
):
    """The float32 sum over k_start <= k < k_end for one tile of C; a and b are pointers or descriptors.

    With descriptors k_end is K, or a multiple of BLOCK_K: they mask nothing inside of the matrix.
    """
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if DESCRIPTORS:
        for k in range(k_start, k_end, BLOCK_K):
            a_tile = a.load([pid_m * BLOCK_M, k])
            b_tile = b.load([k, pid_n * BLOCK_N])
            acc = tl.dot(a_tile, b_tile, acc)
    else:
        # int64: these indices meet strides, and the product can pass 2**31.
        rows = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
        ks = k_start + tl.arange(0, BLOCK_K).to(tl.int64)
        k_step = tl.cast(BLOCK_K, tl.int64)
        a_ptrs = a + rows[:, None] * stride_am + ks[None, :] * stride_ak
        b_ptrs = b + ks[:, None] * stride_bk + cols[None, :] * stride_bn
        for k in range(0, k_end - k_start, BLOCK_K):
            in_k = ks < k_end - k
            a_tile = tl.load(a_ptrs, mask=(rows < M)[:, None] & in_k[None, :], other=0.0)
            b_tile = tl.load(b_ptrs, mask=in_k[:, None] & (cols < N)[None, :], other=0.0)
            acc = tl.dot(a_tile, b_tile, acc)
            a_ptrs += k_step * stride_ak
            b_ptrs += k_step * stride_bk
    return acc


# %% nbgrader={"grade_id": "persistent_matmul", "solution": true}
@triton.jit
def persistent_matmul_kernel(
    a,
    b,
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
    GROUP_M: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    # The loop over this program's tiles: place, sum, store.
    ### BEGIN SOLUTION
    first, step = tl.program_id(0), tl.num_programs(0)
    for tile in tl.range(first, tiles_m * tiles_n, step, flatten=DESCRIPTORS):
        pid_m, pid_n = group_major_tile(tile, tiles_m, tiles_n, GROUP_M)
        acc = tile_product(
            a, b, pid_m, pid_n, 0, K, M, N, stride_am, stride_ak, stride_bk, stride_bn,
            BLOCK_M, BLOCK_N, BLOCK_K, DESCRIPTORS,
        )  # fmt: skip
        rows = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
        in_c = (rows < M)[:, None] & (cols < N)[None, :]
        c_ptrs = c_ptr + rows[:, None] * N + cols[None, :]
        tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=in_c)
    ### END SOLUTION


def persistent_matmul(a, b):
    """Return a @ b in the dtype of a, summed in float32; one program an SM loops over tiles."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    block_m, block_n, k_bytes, stages, warps, _ = choose_tile(M, N, a.device)
    block_k = k_bytes // a.element_size()
    grid = (min(sm_count(a.device), triton.cdiv(M, block_m) * triton.cdiv(N, block_n)),)
    strides = (*a.stride(), *b.stride())
    descriptors = describable(a) and describable(b)
    if descriptors:
        a = TensorDescriptor.from_tensor(a, [block_m, block_k])
        b = TensorDescriptor.from_tensor(b, [block_k, block_n])
    persistent_matmul_kernel[grid](
        a, b, c, M, N, K, *strides,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=8, DESCRIPTORS=descriptors,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return c


# %% [markdown]
# Look first. Without a GPU nine tiles are shared by four programs: one has three, the others two.

# %% tags=["active-ipynb"]
# device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# a = torch.randn(300, 70, device=device)
# b = torch.randn(70, 290, device=device)
# c = persistent_matmul(a, b)
# print("programs:", sm_count(device), "tile:", choose_tile(300, 290, device)[:2])
# print("largest difference:", (c - a @ b).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "persistent_matmul-check", "grade": true}
# check(persistent_matmul)

# %% [markdown]
# ## Step 3: `split_k_matmul`
#
# A product of few rows and columns but large K has few tiles, and most SMs would stand idle. So K is
# cut into slices, one program for each tile and slice. Each slice is a sum of its own in a float32
# tensor of shape (slices, M, N), and the slices are added afterwards.
#
# ```python
# def split_k_matmul_spec(a, b):      # a: (M, K), b: (K, N), one dtype: float16, bfloat16, float32
#     assert a.shape[1] == b.shape[0] and a.dtype == b.dtype
#     c = a.float() @ b.float()       # sums in float32, of the slices and of their sum
#     return c.to(a.dtype)            # (M, N), contiguous, in the input's dtype
# ```
#
# - Any M, N and K, any strides; K may be smaller than a slice. M or N may be 0.
# - The other common way is `tl.atomic_add` into a float32 tensor of zeros. It is accepted. It needs
#   less memory, but programs finish in any order, so the last bits of the sum change from run to
#   run. Slices added by `Tensor.sum` give the same bits every time.
# - **Given:** the wrapper, which chooses the number of slices, and `tile_product` from step 2.
# - **Yours:** which part of K is this program's, its sum, and its store.
#
# <details>
# <summary>Hint 1: a program's part of K</summary>
#
# The second axis of the grid counts slices: `tl.program_id(1)`. Slice s begins at s times
# `slice_k` and ends one slice later, but never after K.
#
# </details>
#
# <details>
# <summary>Hint 2: a slice that is empty</summary>
#
# With K = 5 and four slices of 64, three slices hold nothing. They must store zeros, since the sum
# reads them. `tile_product` gives zeros when its end does not lie after its start.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `k_start = tl.program_id(1) * slice_k`, and `k_end = min(k_start + slice_k, K)`.
# 2. `acc = tile_product(...)` from `k_start` to `k_end`.
# 3. Slice s of `partial_ptr` begins at `s * M * N`, in int64. Row stride N, column stride 1.
# 4. Store `acc` there in float32, masked by `rows < M` and `cols < N`.
#
# </details>


# %% nbgrader={"grade_id": "split_k_matmul", "solution": true}
@triton.jit
def split_k_kernel(
    a_ptr,
    b_ptr,
    partial_ptr,
    M,
    N,
    K,
    slice_k,
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
    pid_m = pid // tiles_n
    pid_n = pid % tiles_n
    rows = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    # This program's part of K; its sum; its store into slice number tl.program_id(1).
    ### BEGIN SOLUTION
    k_start = tl.program_id(1) * slice_k
    k_end = min(k_start + slice_k, K)
    acc = tile_product(
        a_ptr, b_ptr, pid_m, pid_n, k_start, k_end, M, N,
        stride_am, stride_ak, stride_bk, stride_bn, BLOCK_M, BLOCK_N, BLOCK_K, False,
    )  # fmt: skip
    row_of_all = tl.program_id(1).to(tl.int64) * M + rows
    in_c = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(partial_ptr + row_of_all[:, None] * N + cols[None, :], acc, mask=in_c)
    ### END SOLUTION


def split_k_matmul(a, b):
    """Return a @ b in the dtype of a, summed in float32; slices of K are summed by themselves."""
    M, K = a.shape
    N = b.shape[1]
    # A small tile, since there are few rows and columns; 128 bytes of K a turn, as in chapter 6.
    tile = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 128 // a.element_size()}
    tiles = triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"])
    # Enough slices for two programs an SM, but none shorter than four turns of the loop.
    turns = triton.cdiv(K, tile["BLOCK_K"])
    slices = max(1, min(2 * sm_count(a.device) // max(1, tiles), turns // 4))
    slice_k = triton.cdiv(turns, slices) * tile["BLOCK_K"]
    partial = torch.empty((slices, M, N), device=a.device, dtype=torch.float32)
    strides = (*a.stride(), *b.stride())
    split_k_kernel[(tiles, slices)](
        a, b, partial, M, N, K, slice_k, *strides, **tile, num_warps=4, num_stages=3
    )
    return partial.sum(dim=0).to(a.dtype)


# %% [markdown]
# Look first: one tile, and K long enough for several slices. Then K shorter than one.

# %% tags=["active-ipynb"]
# for K in (2000, 5):
#     a = torch.randn(16, K, device=device)
#     b = torch.randn(K, 40, device=device)
#     c = split_k_matmul(a, b)
#     print("K =", K, " largest difference:", (c - a @ b).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "split_k_matmul-check", "grade": true}
# check(split_k_matmul)
