# %% [markdown]
# # Group-major order
#
# The kernel of chapter 6, with its programs numbered so that neighbours share more data.
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `group_major(pid, num_pid_m, num_pid_n, group_size)` | program numbers in groups of tile rows | 4 |
# | 2 | `wave_strips(num_pid_m, num_pid_n, group_size, first, programs)` | what programs need that run together | 5 |
# | 3 | `grouped_matmul(a, b)` | the same order inside a kernel | 8 |
#
# The ideas are explained in [chapter 8](../../book/08_group_major.md). Fill in each cell that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `group_major`
#
# Programs that run at the same time have neighbouring numbers. Row by row, they need one strip of A
# and all of B. Numbered in groups of a few rows of tiles, column after column inside a group, as
# many programs need a few strips of A and only a few of B.
#
# With 3 rows and 3 columns of tiles and groups of 2 rows, the numbers lie like this. The last group
# has one row only:
#
# ```
# 0  2  4
# 1  3  5
# 6  7  8
# ```
#
# The function says which tile a program computes. It is plain Python on plain integers.
#
# ```python
# group_major(3, 3, 3, 2)    # (1, 1): row 1, column 1
# group_major(6, 3, 3, 2)    # (2, 0)
# ```
#
# - `pid` runs from 0 to `num_pid_m * num_pid_n - 1`. Every tile gets exactly one program, on every
#   grid: also where `group_size` does not divide `num_pid_m`, or is larger than it.
# - The result is a tuple of two ints, the row first. Integer division `//` keeps them ints.
#
# <details>
# <summary>Hint 1: what to find out, in order</summary>
#
# Which group is this program in? Which row of tiles is that group's first? How many rows does the
# group have? And which place within the group is this program's?
#
# </details>
#
# <details>
# <summary>Hint 2: the numbers</summary>
#
# A whole group has `group_size * num_pid_n` programs: divide `pid` by it for the group, and take the
# remainder for the place in the group. The last group has only the rows that are left. Inside a
# group the row runs fastest.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `per_group = group_size * num_pid_n`
# 2. `first = (pid // per_group) * group_size`
# 3. `height = min(num_pid_m - first, group_size)`
# 4. `place = pid % per_group`
# 5. The row is `first` plus the remainder of `place` by `height`; the column is the quotient.
#
# </details>


# %% nbgrader={"grade_id": "group_major", "solution": true}
def group_major(pid, num_pid_m, num_pid_n, group_size):
    """Return (row, column) of the tile that program `pid` computes."""
    ### BEGIN SOLUTION
    per_group = group_size * num_pid_n
    first = (pid // per_group) * group_size
    height = min(num_pid_m - first, group_size)  # the last group has what is left
    place = pid % per_group
    return first + place % height, place // height
    ### END SOLUTION


# %% [markdown]
# Look first. Each number is the program of a tile; compare the grid with the one above.

# %% tags=["active-ipynb"]
# tiles = {group_major(pid, 3, 3, 2): pid for pid in range(9)}
# for row in range(3):
#     print(*(tiles.get((row, column), "-") for column in range(3)))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "group_major-check", "grade": true}
# check(group_major)

# %% [markdown]
# ## Step 2: `wave_strips`
#
# A *strip* of A is what a row of tiles reads, and a strip of B what a column of tiles reads. Programs in one
# row share a strip of A. How many different strips do the programs of a wave need?
#
# **A worked count first.** The same question for the snake of chapter 8, which needs no groups. Only
# strips of A:

# %% tags=["active-ipynb"]
# def snake(pid, num_pid_m, num_pid_n):
#     row, place = divmod(pid, num_pid_n)
#     return row, place if row % 2 == 0 else num_pid_n - 1 - place
#
#
# rows = {snake(pid, 3, 5)[0] for pid in range(4, 11)}
# print(len(rows), "strips of A:", sorted(rows))

# %% [markdown]
# **Your task.** The wave has the programs `first`, `first + 1`, …, `first + programs - 1`, numbered in
# group-major order. Return a tuple of two ints: how many different strips of A they read, and how many of B.
#
# - Numbers from `num_pid_m * num_pid_n` on have no program. They need nothing.
# - `programs` may be 0. `first` may be any number, also in the middle of a group.
# - You may call `group_major` of step 1.
#
# ```python
# wave_strips(9, 9, 1, 0, 9)    # (1, 9): row by row
# wave_strips(9, 9, 3, 0, 9)    # (3, 3)
# ```
#
# <details>
# <summary>Hint 1: what is counted</summary>
#
# Not programs: the *different* rows of tiles among them, and the different columns. Python has a type
# that keeps every value once.
#
# </details>
#
# <details>
# <summary>Hint 2: the end</summary>
#
# The last number is the smaller of `first + programs` and `num_pid_m * num_pid_n`, minus one. A `range`
# whose end lies before its start is empty, which is right here.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `end = min(first + programs, num_pid_m * num_pid_n)`
# 2. A list of the tiles of `range(first, end)`, each from `group_major`.
# 3. Return the length of the set of their rows, and of the set of their columns.
#
# </details>


# %% nbgrader={"grade_id": "wave_strips", "solution": true}
def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    """Return (strips of A, strips of B) that the programs of a wave read."""
    ### BEGIN SOLUTION
    end = min(first + programs, num_pid_m * num_pid_n)
    tiles = [group_major(pid, num_pid_m, num_pid_n, group_size) for pid in range(first, end)]
    return len({row for row, _ in tiles}), len({column for _, column in tiles})
    ### END SOLUTION


# %% [markdown]
# Look first: waves of 9 programs on a 9 by 9 grid, for groups of 1 to 9 rows.

# %% tags=["active-ipynb"]
# for group_size in (1, 2, 3, 5, 9):
#     print(group_size, [wave_strips(9, 9, group_size, first, 9) for first in range(0, 81, 9)])

# %% tags=["active-ipynb"] nbgrader={"grade_id": "wave_strips-check", "grade": true}
# check(wave_strips)

# %% [markdown]
# ## Step 3: `grouped_matmul`
#
# The same order, in the kernel of chapter 6.
#
# ```python
# def grouped_matmul_spec(a, b):      # a: (M, K), b: (K, N), one dtype: float16, bfloat16, float32
#     assert a.shape[1] == b.shape[0] and a.dtype == b.dtype
#     c = a.float() @ b.float()       # sums in float32
#     return c.to(a.dtype)            # (M, N), contiguous, in the input's dtype
# ```
#
# - Any M, N and K, any strides. M or N may be 0: then the grid is empty and nothing runs.
# - Every tile of C gets exactly one program, also when GROUP_M does not divide the number of rows of
#   tiles, or is larger than it.
# - **Given:** the wrapper, and everything that follows once the tile is known.
# - **Yours:** the map from `pid` to `pid_m` and `pid_n`.
#
# <details>
# <summary>Hint 1: the same five lines</summary>
#
# `group_major` of step 1, line by line, with the kernel's names.
#
# </details>
#
# <details>
# <summary>Hint 2: the names</summary>
#
# `num_pid_m` and `num_pid_n` are called `tiles_m` and `tiles_n` here, and `group_size` is
# `GROUP_M`. `min` of two integers works in a kernel as well.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `per_group = GROUP_M * tiles_n`
# 2. `first_m = (pid // per_group) * GROUP_M`
# 3. `height = min(tiles_m - first_m, GROUP_M)`
# 4. `place = pid % per_group`
# 5. `pid_m` is `first_m` plus the remainder of `place` by `height`; `pid_n` is the quotient.
#
# </details>


# %% nbgrader={"grade_id": "grouped_matmul", "solution": true}
@triton.jit
def grouped_matmul_kernel(
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
    GROUP_M: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid = tl.program_id(0)
    # pid_m and pid_n: the row and the column of this program's tile, group by group.
    ### BEGIN SOLUTION
    per_group = GROUP_M * tiles_n
    first_m = (pid // per_group) * GROUP_M
    height = min(tiles_m - first_m, GROUP_M)  # the last group has what is left
    place = pid % per_group
    pid_m = first_m + place % height
    pid_n = place // height
    ### END SOLUTION
    # int64: these indices meet strides, and the product can pass 2**31.
    rows = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    k_step = tl.cast(BLOCK_K, tl.int64)
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
    in_c = (rows < M)[:, None] & (cols < N)[None, :]
    c_ptrs = c_ptr + rows[:, None] * N + cols[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=in_c)


def grouped_matmul(a, b):
    """Return a @ b in the dtype of a, summed in float32; programs in group-major order."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    # The tile of chapter 6: 128 bytes of K a turn, 96 KB of shared memory with three turns in flight.
    tile = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128 // a.element_size(), "GROUP_M": 8}
    grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)
    strides = (*a.stride(), *b.stride())
    grouped_matmul_kernel[grid](a, b, c, M, N, K, *strides, **tile, num_warps=8, num_stages=3)
    return c


# %% [markdown]
# Look first. Nine rows of tiles: one whole group of 8, and one group that has a single row.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# a = torch.randn(1030, 20, device=device)
# b = torch.randn(20, 140, device=device)
# c = grouped_matmul(a, b)
# wrong = ~torch.isclose(c, a @ b, rtol=1e-2, atol=1e-2)
# print("rows with a wrong element:", wrong.any(dim=1).nonzero().flatten().tolist()[:5])

# %% tags=["active-ipynb"] nbgrader={"grade_id": "grouped_matmul-check", "grade": true}
# check(grouped_matmul)
