# %% [markdown]
# # Flash attention
#
# Attention without a table of scores, in four steps.
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `attention_traffic(N, D, block_q)` | what goes through memory | 4 |
# | 2 | `causal_blocks(first, block_m, Nq, Nk, block_n)` | blocks of keys to skip, and to mask | 5 |
# | 3 | `attention_tile(q, k, v)` | online softmax around two products | 8 |
# | 4 | `flash_attention(q, k, v, causal=False, scale=None)` | heads, lengths, strides, causal | 20 |
#
# The ideas are explained in [chapter 12](../../book/12_flash_attention.md); the online softmax is
# that of [chapter 11](../../book/11_online_softmax.md). Fill in each place that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `attention_traffic`
#
# How many elements does flash attention move through memory, for one head with as many keys as
# queries? Each program has `block_q` queries of D numbers. It reads them once, walks over all keys
# and values, and writes its part of the output once. The table of scores stays inside.
#
# Compare a kernel that *adds* two vectors of n numbers, `block` at a time: it reads 2n elements and
# writes n, whatever the block. Here the block matters.
#
# ```python
# attention_traffic(8192, 64, 128)    # 68_157_440 elements
# ```
#
# - Elements, not bytes. Plain integers.
# - `block_q` need not divide N: the last program then has fewer queries, and reads all keys as well.
#
# <details>
# <summary>Hint 1: what is read how often</summary>
#
# q and the output: each element once. k and v: each element once *for every program*.
#
# </details>
#
# <details>
# <summary>Hint 2: how many programs there are</summary>
#
# N divided by `block_q`, rounded up. For integers that is `-(-N // block_q)`, or `triton.cdiv`.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `programs`: N over block_q, rounded up.
# 2. Twice N times D for q and the output, plus as much again for each program, for k and v.
#
# </details>


# %% nbgrader={"grade_id": "attention_traffic", "solution": true}
def attention_traffic(N, D, block_q):
    """Return the elements that one head moves: q and the output once, k and v for each program."""
    ### BEGIN SOLUTION
    programs = -(-N // block_q)
    return 2 * N * D + programs * 2 * N * D
    ### END SOLUTION


# %% [markdown]
# Look first: how much is saved against a table of scores that is written, read, written and read?

# %% tags=["active-ipynb"]
# N, D = 8192, 64
# for block_q in (16, 64, 128, 256):
#     print(block_q, (4 * N * D + 4 * N * N) / attention_traffic(N, D, block_q))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "attention_traffic-check", "grade": true}
# check(attention_traffic)

# %% [markdown]
# ## Step 2: `causal_blocks`
#
# With a causal mask, query i sees the keys j <= i + Nk - Nq: the last query sees all of them. A tile
# holds the queries `first` to `first + block_m - 1`. It meets three kinds of blocks of keys, in this
# order: those that all of its queries see, those that some see, those that none sees. The first kind
# needs no mask, the last is skipped.
#
# Return two numbers, in keys:
#
# - `full`: where the first kind ends. A multiple of `block_n`.
# - `end`: where the last seen key ends. Not rounded: the last block is masked anyway.
#
# ```python
# causal_blocks(0, 32, 64, 64, 32)     # (0, 32): the first tile has no block without a mask
# causal_blocks(32, 32, 64, 64, 32)    # (32, 64)
# causal_blocks(0, 32, 32, 100, 32)    # (64, 100): 69 keys are seen by all, which makes 2 blocks
# ```
#
# - A tuple of two ints, both from 0 to Nk. With more queries than keys the first tiles get (0, 0).
# - The last tile may hang over the end of the queries; more than Nk keys there are not.
#
# <details>
# <summary>Hint 1: who decides</summary>
#
# The first query of a tile sees the fewest keys, the last one the most. What the first sees, all see.
#
# </details>
#
# <details>
# <summary>Hint 2: how many keys a query sees</summary>
#
# Query i sees keys 0 to i + Nk - Nq. That is one more than its last key's number, but never less than
# 0 and never more than Nk: `min(max(..., 0), Nk)`.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. `seen_by_first`: `first + 1 + Nk - Nq`, kept between 0 and Nk.
# 2. `full`: `seen_by_first`, rounded down to a multiple of `block_n`.
# 3. `end`: `first + block_m + Nk - Nq`, kept between 0 and Nk.
#
# </details>


# %% nbgrader={"grade_id": "causal_blocks", "solution": true}
def causal_blocks(first, block_m, Nq, Nk, block_n):
    """Return (full, end): all queries of the tile see the keys before full, none those from end on."""
    ### BEGIN SOLUTION
    seen_by_first = min(max(first + 1 + Nk - Nq, 0), Nk)
    full = seen_by_first // block_n * block_n
    end = min(max(first + block_m + Nk - Nq, 0), Nk)
    return full, end
    ### END SOLUTION


# %% [markdown]
# Look first: the blocks of a causal mask. A full block is `#`, a masked one `/`, a skipped one `.`.

# %% tags=["active-ipynb"]
# Nq, Nk, block = 96, 160, 16
# for first in range(0, Nq, block):
#     full, end = causal_blocks(first, block, Nq, Nk, block)
#     print("".join("#" if k < full else "/" if k < end else "." for k in range(0, Nk, block)))

# %% tags=["active-ipynb"] nbgrader={"grade_id": "causal_blocks-check", "grade": true}
# check(causal_blocks)

# %% [markdown]
# ## Step 3: `attention_tile`
#
# One program, 32 queries, all keys, no causal mask. This is the heart of flash attention; the last
# step puts heads, strides and masks around it.
#
# ```python
# def attention_tile_spec(q, k, v):     # q: (32, D), k and v: (Nk, D), all contiguous, one dtype
#     s = q.float() @ k.float().mT * q.shape[1] ** -0.5
#     p = torch.softmax(s, -1)
#     return (p @ v.float()).to(q.dtype)    # (32, D)
# ```
#
# - D is 16, 32, 64 or 128; any Nk from 1 on; float16, bfloat16 or float32. Sums in float32.
# - **Given:** the wrapper, the tile of queries, and how many keys each query sees (here: all).
# - **Yours:** what one block of keys does to the maximum, the sum and the accumulator (part 1), and
#   the loop over the keys with the store (part 2). Step 4 uses part 1 again.
#
# <details>
# <summary>Hint 1: what is carried from block to block</summary>
#
# For each query: `m`, the largest score so far; `l`, the sum of 2**(score - m); `acc`, the sum of
# 2**(score - m) times the key's value. A block that raises m leaves l and acc in the old unit:
# multiply both by 2**(m - new_m) before the block's own share is added. At the end the answer is
# acc / l.
#
# The wrapper multiplies the scale by log2(e), because 2**(x * log2(e)) is exp(x), and a GPU computes
# powers of 2. So every score is in units of log 2, and `tl.exp2` takes the place of `tl.exp`.
#
# </details>
#
# <details>
# <summary>Hint 2: keys that do not count</summary>
#
# A key past the end must get the score minus infinity: then its power is 0. That line is given.
# Loading the key as 0 is not enough, because a score of 0 is a score like any other.
#
# In step 4 a query may have seen no key yet. Its maximum is minus infinity then, and minus infinity
# minus minus infinity is NaN. Subtract 0 in that case:
# `tl.where(new_m == float("-inf"), 0.0, new_m)`.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# Part 1, after the mask:
#
# 1. `new_m`: `tl.maximum` of `m` and the largest score of each row, `tl.max(s, 1) * scale`.
# 2. `base`: `new_m`, but 0 where it is minus infinity. Only a masked block needs that.
# 3. `p = tl.exp2(s * scale - base[:, None])` and `shrink = tl.exp2(m - base)`.
# 4. `l = l * shrink + tl.sum(p, 1)`.
# 5. `acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])`.
#
# Part 2:
#
# 1. `m` begins at minus infinity, `l` and `acc` at 0, all in float32.
# 2. For each `start` in `range(0, Nk, BLOCK_N)`: `keys = start + cols`.
# 3. Load k as a tile of (D, BLOCK_N), from `k_ptr + keys[None, :] * D + ds[:, None]`, and v as a tile
#    of (BLOCK_N, D), both where `keys < Nk` and 0 elsewhere.
# 4. `attend_block(tl.dot(q, k), v, m, l, acc, keys, visible, scale, MASKED=True)`.
# 5. After the loop, `acc / l[:, None]`, converted, to `out_ptr + rows[:, None] * D + ds[None, :]`.
#
# </details>

# %%
LOG2_E = 1.4426950408889634  # 2**(x * LOG2_E) is exp(x)


# %% nbgrader={"grade_id": "attention_tile", "solution": true}
# Part 1: one block of keys.
@triton.jit
def attend_block(s, v, m, l, acc, keys, visible, scale, MASKED: tl.constexpr):
    """Take one block of keys into the running maximum m, sum l and accumulator acc.

    s (BLOCK_M, BLOCK_N) are products of queries and keys, not scaled yet, and v (BLOCK_N, D) the
    keys' values; m and l are (BLOCK_M,), acc is (BLOCK_M, D). Where MASKED, a query counts only
    keys whose number is below its entry of visible (BLOCK_M,).
    """
    if MASKED:
        s = tl.where(keys[None, :] < visible[:, None], s * scale, float("-inf"))
        scale = 1.0  # is in s now; elsewhere it goes into the exponent, which saves a product
    # The new maximum, the block's powers of 2, what is carried over, the product with v.
    ### BEGIN SOLUTION
    new_m = tl.maximum(m, tl.max(s, 1) * scale)
    base = new_m
    if MASKED:  # a query that has seen no key yet
        base = tl.where(new_m == float("-inf"), 0.0, new_m)
    p = tl.exp2(s * scale - base[:, None])
    shrink = tl.exp2(m - base)
    l = l * shrink + tl.sum(p, 1)
    acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
    ### END SOLUTION
    return new_m, l, acc


# Part 2: the loop over the keys.
@triton.jit
def attention_tile_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    Nk,
    scale,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    rows = tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    ds = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + ds[None, :])
    visible = tl.full((BLOCK_M,), Nk, tl.int32)
    # Statistics; a loop over the keys, all of its blocks masked; the quotient and its store.
    ### BEGIN SOLUTION
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, Nk, BLOCK_N):
        keys = start + cols
        k = tl.load(k_ptr + keys[None, :] * D + ds[:, None], mask=(keys < Nk)[None, :], other=0.0)
        v = tl.load(v_ptr + keys[:, None] * D + ds[None, :], mask=(keys < Nk)[:, None], other=0.0)
        m, l, acc = attend_block(tl.dot(q, k), v, m, l, acc, keys, visible, scale, MASKED=True)
    out = acc / l[:, None]
    tl.store(out_ptr + rows[:, None] * D + ds[None, :], out.to(out_ptr.dtype.element_ty))
    ### END SOLUTION


def attention_tile(q, k, v):
    """Return softmax(q @ k.T / sqrt(D)) @ v for q of (32, D), k and v of (Nk, D), in one program."""
    (BLOCK_M, D), Nk = q.shape, k.shape[0]
    out = torch.empty((BLOCK_M, D), device=q.device, dtype=q.dtype)
    scale = D**-0.5 * LOG2_E
    attention_tile_kernel[(1,)](q, k, v, out, Nk, scale, D=D, BLOCK_M=BLOCK_M, BLOCK_N=32)
    return out


# %% [markdown]
# Look first: 70 keys, which is two blocks of 32 and 6 keys.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# q = torch.randn(32, 64, device=device)
# k, v = torch.randn(70, 64, device=device), torch.randn(70, 64, device=device)
# expected = torch.softmax(q @ k.mT / 8, -1) @ v
# print("largest difference:", (attention_tile(q, k, v) - expected).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "attention_tile-check", "grade": true}
# check(attention_tile)

# %% [markdown]
# ## Step 4: `flash_attention`
#
# The same loop for every batch and head, for queries and keys of different lengths, any strides, and
# with a causal mask.
#
# ```python
# def flash_attention_spec(q, k, v, causal=False, scale=None):
#     # q: (B, H, Nq, D); k, v: (B, Hkv, Nk, D); one dtype: float16, bfloat16, float32
#     B, H, Nq, D = q.shape
#     Hkv, Nk = k.shape[1:3]                       # Hkv divides H; D is 16, 32, 64 or 128
#     k = k.float().repeat_interleave(H // Hkv, 1)  # head h uses key head h // (H // Hkv)
#     v = v.float().repeat_interleave(H // Hkv, 1)
#     s = q.float() @ k.mT * (D**-0.5 if scale is None else scale)
#     if causal:                                    # the last query sees every key
#         i, j = torch.arange(Nq)[:, None], torch.arange(Nk)[None, :]
#         s = s.masked_fill(j > i + Nk - Nq, float("-inf"))
#     p = torch.softmax(s, -1).nan_to_num()         # a row that sees no key gives zeros
#     return (p @ v).to(q.dtype)                    # (B, H, Nq, D), contiguous
# ```
#
# - Any Nq and Nk, any strides of q, k and v. Scores, maxima and sums in float32.
# - One program computes BLOCK_M queries of one head. It walks over the keys, BLOCK_N at a time.
# - **Given:** the wrapper, the program's head and queries, pointers. `attend_block` is yours, from
#   step 3.
# - **Yours:** how many keys each query sees under a causal mask, with the bounds of step 2 (part 1); a
#   loop over the blocks without a mask, one over those with a mask, and the store (part 2).
#
# <details>
# <summary>Hint 1: why two loops</summary>
#
# A mask costs a comparison and a selection for every score. Only the blocks at the diagonal and at
# the end need it. So `attend_block` is compiled twice, with MASKED=False and with MASKED=True, and the
# long loop has the first.
#
# </details>
#
# <details>
# <summary>Hint 2: where a block lies, and what an empty row needs</summary>
#
# The pointers `k_ptr` and `v_ptr` stand at the head's first key, and `k_tile` and `v_tile` are the
# places of a block's elements from its own first key. So a block that begins at key `start` lies at
# `k_ptr + start * stride_kn + k_tile`. `start * stride_kn` can pass 2**31: make `start` an int64 with
# `tl.cast(start, tl.int64)`.
#
# A query that sees no key ends with the sum 0. Divide by 1 instead; its accumulator is 0 already.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# Part 1, the formulas of step 2 with `tl.minimum` and `tl.maximum`:
#
# 1. `visible`: `queries + (Nk - Nq + 1)`, at most Nk. Less than 0 does no harm.
# 2. `full`: `first + (Nk - Nq + 1)`, kept between 0 and Nk. The next line rounds it.
# 3. `end`: `first + BLOCK_M + (Nk - Nq)`, kept between 0 and Nk.
#
# Part 2:
#
# 1. `m` begins at minus infinity, `l` and `acc` at 0, all in float32.
# 2. A loop `for start in range(0, full, BLOCK_N)` without masks. Load k and v as in hint 2, then
#    `attend_block(tl.dot(q, k), ..., MASKED=False)`. Keys are not looked at there: 0 will do for them.
# 3. A loop from `full` to `end` in the same way, with masks: `keys = start + tl.arange(0, BLOCK_N)`,
#    loads where `keys < Nk`. `tl.range(full, end, BLOCK_N, num_stages=1)` keeps this short loop from
#    loading ahead.
# 4. `acc / l[:, None]`, with 1 where l is 0, converted and stored where `queries < Nq`.
#
# </details>

# %%
# BLOCK_M, BLOCK_N, num_warps and num_stages, by bytes of a number and head dimension D. The tiles of
# q, k and v in flight share one SM's shared memory, and what a program carries its registers.
TILES = {
    (2, 16): (128, 64, 4, 3),
    (2, 32): (128, 64, 4, 3),
    (2, 64): (128, 64, 8, 4),
    (2, 128): (128, 64, 8, 3),
    (4, 16): (64, 32, 4, 3),
    (4, 32): (64, 32, 4, 3),
    (4, 64): (64, 32, 4, 3),
    (4, 128): (128, 32, 8, 2),
}


def target_of(x):
    """("cuda", 90) for an H100, ("hip", "gfx942") for an MI300, ("cpu", 0) in the interpreter."""
    if x.device.type == "cpu":
        return "cpu", 0
    target = triton.runtime.driver.active.get_current_target()
    return target.backend, target.arch


# %% nbgrader={"grade_id": "flash_attention", "solution": true}
# One binary serves every Nq and Nk: none is made for lengths of 1, or for multiples of 16.
@triton.jit(do_not_specialize=["Nq", "Nk"])
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    H,
    Nq,
    Nk,
    group,
    scale,
    stride_qb,
    stride_qh,
    stride_qn,
    stride_qd,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_kd,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_vd,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # With a causal mask the last queries see the most keys. They start first, so that no long
    # program is left over at the end.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1).to(tl.int64)
    batch = tl.program_id(2).to(tl.int64)
    kv_head = head // group
    queries = first + tl.arange(0, BLOCK_M)
    # int64: these indices meet strides, and the products can pass 2**31.
    rows = queries.to(tl.int64)
    cols = tl.arange(0, BLOCK_N).to(tl.int64)
    ds = tl.arange(0, D).to(tl.int64)
    q_ptrs = q_ptr + batch * stride_qb + head * stride_qh
    q_ptrs += rows[:, None] * stride_qn + ds[None, :] * stride_qd
    out_ptrs = out_ptr + ((batch * H + head) * Nq + rows[:, None]) * D + ds[None, :]
    # This head's first key and value, and where the elements of a tile lie from its own first one.
    # Only one number changes from block to block: fewer registers than a tile of moving pointers.
    # A tile of k is transposed: (D, BLOCK_N).
    k_ptr += batch * stride_kb + kv_head * stride_kh
    v_ptr += batch * stride_vb + kv_head * stride_vh
    k_tile = cols[None, :] * stride_kn + ds[:, None] * stride_kd
    v_tile = cols[:, None] * stride_vn + ds[None, :] * stride_vd
    # How many keys each query sees; before `full` all are seen by every query, from `end` on none.
    visible = tl.full((BLOCK_M,), Nk, tl.int32)
    full = Nk
    end = Nk
    if CAUSAL:
        # The same three for a causal mask; full need not be rounded yet.
        ### BEGIN SOLUTION
        visible = tl.minimum(queries + (Nk - Nq + 1), Nk)
        full = tl.minimum(tl.maximum(first + (Nk - Nq + 1), 0), Nk)
        end = tl.minimum(tl.maximum(first + BLOCK_M + (Nk - Nq), 0), Nk)
        ### END SOLUTION
    full = full // BLOCK_N * BLOCK_N
    full = tl.where(scale < 0, 0, full)  # only blocks with a mask are right for a negative scale

    q = tl.load(q_ptrs, mask=(queries < Nq)[:, None], other=0.0)
    # Statistics; a loop to `full`; a loop from there to `end`; the quotient and its store.
    ### BEGIN SOLUTION
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, full, BLOCK_N):
        at = tl.cast(start, tl.int64)
        k = tl.load(k_ptr + at * stride_kn + k_tile)
        v = tl.load(v_ptr + at * stride_vn + v_tile)
        m, l, acc = attend_block(tl.dot(q, k), v, m, l, acc, 0, visible, scale, MASKED=False)
    for start in tl.range(full, end, BLOCK_N, num_stages=1):
        at = tl.cast(start, tl.int64)
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + at * stride_kn + k_tile, mask=(keys < Nk)[None, :], other=0.0)
        v = tl.load(v_ptr + at * stride_vn + v_tile, mask=(keys < Nk)[:, None], other=0.0)
        m, l, acc = attend_block(tl.dot(q, k), v, m, l, acc, keys, visible, scale, MASKED=True)
    out = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=(queries < Nq)[:, None])
    ### END SOLUTION


### BEGIN REFERENCE
@triton.jit
def first_blocks(
    q,
    k_desc,
    v_desc,
    batch,
    kv_head,
    first,
    full,
    Nq,
    Nk,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """m, l and acc of the queries from `first` on, over the blocks of keys that need a mask."""
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    visible = tl.full((BLOCK_M,), Nk, tl.int32)
    end = Nk
    if CAUSAL:
        visible = tl.minimum(first + tl.arange(0, BLOCK_M) + (Nk - Nq + 1), Nk)
        end = tl.minimum(first + BLOCK_M + (Nk - Nq), Nk)
    for start in tl.range(full, end, BLOCK_N, num_stages=1):
        k = k_desc.load([batch, kv_head, start, 0]).reshape(BLOCK_N, D)
        v = v_desc.load([batch, kv_head, start, 0]).reshape(BLOCK_N, D)
        keys = start + tl.arange(0, BLOCK_N)
        m, l, acc = attend_block(tl.dot(q, k.T), v, m, l, acc, keys, visible, scale, MASKED=True)
    return m, l, acc


@triton.jit
def store_tile(out_ptr, queries, l, acc, Nq, D: tl.constexpr):
    out = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    out_ptrs = out_ptr + queries.to(tl.int64)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=(queries < Nq)[:, None])


@triton.jit
def hopper_kernel(
    q_desc,
    k_desc,
    v_desc,
    out_ptr,
    H,
    Nq,
    Nk,
    group,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Two tiles of queries a program. While the tensor cores multiply the weights of one by v, the
    other's softmax is computed. Blocks with a mask come first, so that the long loop at the end has
    the registers to itself.
    """
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * (2 * BLOCK_M)
    head = tl.program_id(1)
    batch = tl.program_id(2)
    kv_head = head // group
    full = Nk
    if CAUSAL:
        full = tl.minimum(tl.maximum(first + (Nk - Nq + 1), 0), Nk)
    full = full // BLOCK_N * BLOCK_N
    q0 = q_desc.load([batch, head, first, 0]).reshape(BLOCK_M, D)
    q1 = q_desc.load([batch, head, first + BLOCK_M, 0]).reshape(BLOCK_M, D)
    m0, l0, acc0 = first_blocks(
        q0, k_desc, v_desc, batch, kv_head, first,
        full, Nq, Nk, scale, D, CAUSAL, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    m1, l1, acc1 = first_blocks(
        q1, k_desc, v_desc, batch, kv_head, first + BLOCK_M,
        full, Nq, Nk, scale, D, CAUSAL, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    for start in range(0, full, BLOCK_N):
        k = k_desc.load([batch, kv_head, start, 0]).reshape(BLOCK_N, D)
        s0 = tl.dot(q0, k.T)
        s1 = tl.dot(q1, k.T)
        v = v_desc.load([batch, kv_head, start, 0]).reshape(BLOCK_N, D)
        m0, l0, acc0 = attend_block(s0, v, m0, l0, acc0, 0, 0, scale, MASKED=False)
        m1, l1, acc1 = attend_block(s1, v, m1, l1, acc1, 0, 0, scale, MASKED=False)
    out_ptr += (batch.to(tl.int64) * H + head) * Nq * D
    queries = first + tl.arange(0, BLOCK_M)
    store_tile(out_ptr, queries, l0, acc0, Nq, D)
    store_tile(out_ptr, queries + BLOCK_M, l1, acc1, Nq, D)


def suits_hopper(q, k, v, scale):
    """Whether hopper_kernel computes this, and does it faster: measured at D = 128 in 16 bits.

    A descriptor wants rows in one piece, and addresses and other strides in whole 16 bytes.
    """
    whole = all(
        x.stride(3) == 1
        and x.data_ptr() % 16 == 0
        and all(s > 0 and s % 8 == 0 for s in x.stride()[:3])
        for x in (q, k, v)
    )
    large = q.shape[3] == 128 and q.element_size() == 2 and q.shape[2] >= 256 and k.shape[2] >= 64
    return target_of(q) == ("cuda", 90) and large and whole and scale >= 0


def hopper_attention(q, k, v, causal, scale):
    """flash_attention by hopper_kernel: two tiles of 128 queries, blocks of 64 keys."""
    from triton.tools.tensor_descriptor import TensorDescriptor  # needed here only

    B, H, Nq, D = q.shape
    Hkv, Nk = k.shape[1:3]
    out = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
    q_desc, k_desc, v_desc = (
        TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 1, rows, D])
        for x, rows in ((q, 128), (k, 64), (v, 64))
    )
    hopper_kernel[(triton.cdiv(Nq, 256), H, B)](
        q_desc, k_desc, v_desc, out, H, Nq, Nk, H // Hkv, scale * LOG2_E,
        D=D, CAUSAL=causal, BLOCK_M=128, BLOCK_N=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return out


### END REFERENCE
def flash_attention(q, k, v, causal=False, scale=None):
    """Return softmax(scale * q @ k.T) @ v head by head, in the dtype of q.

    q is (B, H, Nq, D), k and v are (B, Hkv, Nk, D), and Hkv divides H. With `causal` the last query
    sees every key, each one before it one key less; a query that sees no key gives zeros.
    """
    B, H, Nq, D = q.shape
    Hkv, Nk = k.shape[1:3]
    scale = D**-0.5 if scale is None else scale
    ### BEGIN REFERENCE
    if suits_hopper(q, k, v, scale):
        return hopper_attention(q, k, v, causal, scale)
    ### END REFERENCE
    out = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
    block_m, block_n, warps, stages = TILES[q.element_size(), D]
    if target_of(q)[0] == "hip":  # AMD: twice the threads in a warp, and 64 KB of shared memory
        warps, stages = 4, 2
        if q.element_size() == 4:
            block_m = 64
    # H and B stay below 65,535, which is where the second and third axis of a grid stop.
    grid = (triton.cdiv(Nq, block_m), H, B)
    sizes = (H, Nq, Nk, H // Hkv, scale * LOG2_E)
    strides = (*q.stride(), *k.stride(), *v.stride())
    constants = {"D": D, "CAUSAL": causal, "BLOCK_M": block_m, "BLOCK_N": block_n}
    options = {"num_warps": warps, "num_stages": stages}
    attention_kernel[grid](q, k, v, out, *sizes, *strides, **constants, **options)
    return out


# %% [markdown]
# Look first: fewer queries than keys, neither a multiple of a tile, two query heads to each key head.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# q = torch.randn(1, 4, 20, 32, device=device)
# k = torch.randn(1, 2, 52, 32, device=device)
# v = torch.randn(1, 2, 52, 32, device=device)
# out = flash_attention(q, k, v)
# keys, values = (x.repeat_interleave(2, dim=1) for x in (k, v))
# expected = torch.softmax(q @ keys.mT * 32**-0.5, -1) @ values
# print(out.shape, "largest difference:", (out - expected).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "flash_attention-check", "grade": true}
# check(flash_attention)
