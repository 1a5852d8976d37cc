# %% [markdown]
# # Blockwise matrix multiplication
#
# The product of two matrices in plain Python: three loops, then six, and the number of elements
# that the six loops load. No kernel and no GPU yet.
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `naive_matmul(a, b)` | every element of C is a sum of its own | 4 |
# | 2 | `blockwise_matmul(a, b, block_size)` | blocks of C, and blocks along K | 6 |
# | 3 | `blockwise_loads(M, N, K, block_size)` | how often each operand is loaded | 4 |
#
# The ideas are explained in [chapter 3](../../book/03_blockwise_matmul.md). Fill in each cell that
# says `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below
# it. You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch

# %% [markdown]
# ## Step 1: `naive_matmul`
#
# A is (M, K), B is (K, N), and C = A · B is (M, N). Its element in row i and column j is
#
# $$C_{ij} = \sum_{k=0}^{K-1} A_{ik} B_{kj}.$$
#
# - The result is a new tensor of shape (M, N) and dtype float32. The inputs are float32 or float16,
#   and are converted to float32 before they are multiplied.
# - K may be 0: then there is nothing to add up, and C is all zeros.
# - Write the loops yourself. Adding, multiplying and slicing tensors is fine; `@`, `torch.matmul`,
#   `torch.dot` and NumPy are not.
# - The matrices of the check are tiny, so that loops in Python are fast enough.
#
# <details>
# <summary>Hint 1: what each loop counts</summary>
#
# One loop for the rows of C, one for its columns, and one for the terms of the sum.
#
# </details>
#
# <details>
# <summary>Hint 2: where the sum begins</summary>
#
# `torch.zeros(M, N, dtype=torch.float32)` holds the beginning of every sum.
#
# </details>
#
# <details>
# <summary>Hint 3: the line inside the loops</summary>
#
# `c[i, j] += a[i, k].float() * b[k, j].float()`
#
# </details>


# %% nbgrader={"grade_id": "naive_matmul", "solution": true}
def naive_matmul(a, b):
    """Return a @ b as float32, by three loops."""
    M, K = a.shape
    N = b.shape[1]
    ### BEGIN SOLUTION
    c = torch.zeros(M, N, dtype=torch.float32)
    for i in range(M):
        for j in range(N):
            for k in range(K):
                c[i, j] += a[i, k].float() * b[k, j].float()
    return c
    ### END SOLUTION


# %% [markdown]
# Look first. The largest difference from the library's product:

# %% tags=["active-ipynb"]
# a, b = torch.randn(3, 5), torch.randn(5, 4)
# print((naive_matmul(a, b) - a @ b).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "naive_matmul-check", "grade": true}
# check(naive_matmul)

# %% [markdown]
# ## Step 2: `blockwise_matmul`
#
# The same products in another order. C is cut into blocks of `block_size` rows and columns, and the
# sum over k into blocks as well. The three outer loops go from block to block, the three inner ones
# through the elements of one block. The numbers that one block needs are few, so they can stay in a
# small, fast memory while they are used again and again.
#
# - As `naive_matmul`, for any `block_size` from 1: also where it does not divide M, N or K, and where
#   it is larger than all of them. A block at the edge has what is left.
#
# <details>
# <summary>Hint 1: the outer loops</summary>
#
# `range(0, M, block_size)` gives the first row of every block of rows, the last, partial one
# included.
#
# </details>
#
# <details>
# <summary>Hint 2: the inner loops</summary>
#
# A block that begins at row `i0` ends at `min(i0 + block_size, M)`.
#
# </details>
#
# <details>
# <summary>Hint 3: all in words</summary>
#
# For each `i0`, each `j0`, each `k0`: for each `i` of the block of rows, each `j` of the block of
# columns, each `k` of the block along K: add `a[i, k] * b[k, j]` to `c[i, j]`. C is set to zero
# once, before all loops.
#
# </details>


# %% nbgrader={"grade_id": "blockwise_matmul", "solution": true}
def blockwise_matmul(a, b, block_size):
    """Return a @ b as float32, block by block."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32)
    ### BEGIN SOLUTION
    for i0 in range(0, M, block_size):
        for j0 in range(0, N, block_size):
            for k0 in range(0, K, block_size):
                for i in range(i0, min(i0 + block_size, M)):
                    for j in range(j0, min(j0 + block_size, N)):
                        for k in range(k0, min(k0 + block_size, K)):
                            c[i, j] += a[i, k].float() * b[k, j].float()
    ### END SOLUTION
    return c


# %% [markdown]
# Look first. A block size that divides nothing:

# %% tags=["active-ipynb"]
# a, b = torch.randn(5, 7), torch.randn(7, 4)
# print((blockwise_matmul(a, b, 3) - a @ b).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "blockwise_matmul-check", "grade": true}
# check(blockwise_matmul)

# %% [markdown]
# ## Step 3: `blockwise_loads`
#
# Let the fast memory hold one block of each matrix. For every block of C and every k0, the
# algorithm of step 2 loads one block of A and one block of B, and each element of them counts as one
# load. How many elements are loaded in all?
#
# ```python
# blockwise_loads(4, 4, 4, 1)    # 128: each of the 64 products loads two numbers
# blockwise_loads(4, 4, 4, 4)    # 32: one block of each, 16 elements of A and 16 of B
# ```
#
# - The result is an int: elements of A plus elements of B. C is not counted.
# - A block at the edge has fewer elements, and only those are loaded.
#
# <details>
# <summary>Hint 1: one operand at a time</summary>
#
# All blocks of C in one row need the same rows of A. How many blocks of C are there in a row?
#
# </details>
#
# <details>
# <summary>Hint 2: rounding up</summary>
#
# There are N / block_size blocks in a row of C, rounded up: `-(-N // block_size)`.
#
# </details>
#
# <details>
# <summary>Hint 3: the sum in words</summary>
#
# The elements of A times the blocks of C in a row, plus the elements of B times the blocks of C in a
# column.
#
# </details>


# %% nbgrader={"grade_id": "blockwise_loads", "solution": true}
def blockwise_loads(M, N, K, block_size):
    """Return how many elements of A and B the blockwise product loads."""
    ### BEGIN SOLUTION
    blocks_m = -(-M // block_size)
    blocks_n = -(-N // block_size)
    return M * K * blocks_n + K * N * blocks_m
    ### END SOLUTION


# %% [markdown]
# Look first. Doubling the block should about halve the loads:

# %% tags=["active-ipynb"]
# for block_size in (1, 2, 4, 8, 16, 32):
#     print(block_size, blockwise_loads(64, 64, 64, block_size))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "blockwise_loads-check", "grade": true}
# check(blockwise_loads)
