# %% [markdown]
# # Flash attention
#
# One kernel, in two parts:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `flash_attention(q, k, v, causal=False, scale=None)` | online softmax around two products | 20 |
#
# The ideas are explained in chapter 12; the online softmax is that of chapter 11. Fill in the two
# places that say `YOUR CODE HERE`, delete their `raise` lines, look at a small result, then run the
# check at the end. You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `flash_attention`
#
# Every query is compared with every key it may see, and gets the mean of their values, weighted by
# softmax. The Nq x Nk scores never go to memory.
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
# - **Given:** the wrapper, the program's head and queries, pointers, and how many blocks of keys
#   every query of the program sees in full.
# - **Yours:** what one block of keys does to the maximum, the sum and the accumulator (part 1), and
#   the two loops with the store (part 2).
#
# <details>
# <summary>Hint 1: what is carried from block to block</summary>
#
# For each query: `m`, the largest score so far; `l`, the sum of 2**(score - m); `acc`, the sum of
# 2**(score - m) times the key's value. A block that raises m leaves l and acc in the old unit:
# multiply both by 2**(m - new_m) before the block's own share is added. At the end the answer is
# acc / l.
#
# The wrapper multiplies the scale by log2(e), because 2**(x * log2(e)) is exp(x), and a GPU
# computes powers of 2 faster. So every score is in units of log 2, and `tl.exp2` takes the place of
# `tl.exp`.
#
# </details>
#
# <details>
# <summary>Hint 2: keys that do not count</summary>
#
# A key past the end, or one that a query may not see, must get the score minus infinity: then its
# power is 0. Loading it as 0 is not enough, because a score of 0 is a score like any other.
#
# A query that has seen no key yet has the maximum minus infinity, and minus infinity minus minus
# infinity is NaN. Subtract 0 in that case: `tl.where(new_m == float("-inf"), 0.0, new_m)`. Its sum is
# 0 at the end; divide by 1 instead.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# Part 1, after the scores:
#
# 1. `new_m`: `tl.maximum` of `m` and the largest score of each row, `tl.max(s, 1)`.
# 2. `base`: `new_m`, but 0 where it is minus infinity. Only a masked block needs that.
# 3. `p = tl.exp2(s - base[:, None])` and `shrink = tl.exp2(m - base)`.
# 4. `l = l * shrink + tl.sum(p, 1)`.
# 5. `acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])`.
#
# Part 2:
#
# 1. `m` begins at minus infinity, `l` and `acc` at 0, all in float32.
# 2. A loop `for start in range(0, full, BLOCK_N)` without masks: load k and v, call
#    `attend_block(..., MASKED=False)`, advance both pointers.
# 3. A loop from `full` to `end` in the same way, with masks: `keys = start + cols`, loads where
#    `keys < Nk`, and `seen` as a tile of (BLOCK_M, BLOCK_N).
# 4. `acc / l[:, None]`, with 1 where l is 0, converted and stored where `rows < Nq`.
#
# </details>


# %% nbgrader={"grade_id": "flash_attention", "solution": true}
# Part 1: one block of keys.
@triton.jit
def attend_block(q, k, v, m, l, acc, seen, scale, MASKED: tl.constexpr):
    """Take one block of keys into the running maximum m, sum l and accumulator acc.

    q is (BLOCK_M, D), k is (D, BLOCK_N), v is (BLOCK_N, D); m and l are (BLOCK_M,) and acc is
    (BLOCK_M, D). Where MASKED, seen (BLOCK_M, BLOCK_N) says which keys count for which query.
    """
    s = tl.dot(q, k) * scale
    if MASKED:
        s = tl.where(seen, s, float("-inf"))
    # The new maximum, the block's powers of 2, what is carried over, the product with v.
    ### BEGIN SOLUTION
    new_m = tl.maximum(m, tl.max(s, 1))
    base = new_m
    if MASKED:  # a query that has seen no key yet
        base = tl.where(new_m == float("-inf"), 0.0, new_m)
    p = tl.exp2(s - base[:, None])
    shrink = tl.exp2(m - base)
    l = l * shrink + tl.sum(p, 1)
    acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
    ### END SOLUTION
    return new_m, l, acc


# Part 2: the kernel, and the function that launches it.
@triton.jit
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
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    batch = tl.program_id(2).to(tl.int64)
    kv_head = head // group
    # int64: these indices meet strides, and the products can pass 2**31.
    rows = block.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N).to(tl.int64)
    ds = tl.arange(0, D).to(tl.int64)
    n_step = tl.cast(BLOCK_N, tl.int64)
    q_ptrs = q_ptr + batch * stride_qb + head * stride_qh
    q_ptrs += rows[:, None] * stride_qn + ds[None, :] * stride_qd
    k_ptrs = k_ptr + batch * stride_kb + kv_head * stride_kh  # a tile of k transposed: (D, BLOCK_N)
    k_ptrs += cols[None, :] * stride_kn + ds[:, None] * stride_kd
    v_ptrs = v_ptr + batch * stride_vb + kv_head * stride_vh
    v_ptrs += cols[:, None] * stride_vn + ds[None, :] * stride_vd
    out_ptrs = out_ptr + ((batch * H + head) * Nq + rows[:, None]) * D + ds[None, :]
    # Keys before `full` are seen by every query of this program, keys from `end` on by none.
    full = Nk
    end = Nk
    if CAUSAL:
        offset = Nk - Nq  # query i sees keys up to i + offset
        full = tl.minimum(tl.maximum(block * BLOCK_M + offset + 1, 0), Nk)
        end = tl.minimum(tl.maximum(block * BLOCK_M + BLOCK_M + offset, 0), Nk)
    full = full // BLOCK_N * BLOCK_N

    q = tl.load(q_ptrs, mask=(rows < Nq)[:, None], other=0.0)
    # Statistics; a loop to `full`; a loop from there to `end`; the quotient and its store.
    ### BEGIN SOLUTION
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for _ in range(0, full, BLOCK_N):
        k = tl.load(k_ptrs)
        v = tl.load(v_ptrs)
        m, l, acc = attend_block(q, k, v, m, l, acc, True, scale, MASKED=False)
        k_ptrs += n_step * stride_kn
        v_ptrs += n_step * stride_vn
    for start in range(full, end, BLOCK_N):
        keys = start + cols
        k = tl.load(k_ptrs, mask=(keys < Nk)[None, :], other=0.0)
        v = tl.load(v_ptrs, mask=(keys < Nk)[:, None], other=0.0)
        seen = (keys < Nk)[None, :]
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None] + (Nk - Nq))
        m, l, acc = attend_block(q, k, v, m, l, acc, seen, scale, MASKED=True)
        k_ptrs += n_step * stride_kn
        v_ptrs += n_step * stride_vn
    out = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=(rows < Nq)[:, None])
    ### END SOLUTION


def flash_attention(q, k, v, causal=False, scale=None):
    """Return softmax(scale * q @ k.T) @ v head by head, in the dtype of q.

    q is (B, H, Nq, D), k and v are (B, Hkv, Nk, D), and Hkv divides H. With `causal` the last query
    sees every key, each one before it one key less; a query that sees no key gives zeros.
    """
    B, H, Nq, D = q.shape
    Hkv, Nk = k.shape[1:3]
    scale = D**-0.5 if scale is None else scale
    out = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
    # The tiles of q, k and v, and the turns of k and v in flight, share one SM's shared memory.
    if q.element_size() == 2:
        tile = {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8 if D >= 64 else 4}
    else:
        tile = {"BLOCK_M": 64, "BLOCK_N": 32, "num_warps": 4}
    stages = 2 if D == 128 else 3
    # H and B stay below 65,535, which is where the second and third axis of a grid stop.
    grid = (triton.cdiv(Nq, tile["BLOCK_M"]), H, B)
    sizes = (H, Nq, Nk, H // Hkv, scale * 1.4426950408889634)  # log2(e)
    strides = (*q.stride(), *k.stride(), *v.stride())
    options = {"D": D, "CAUSAL": causal, **tile, "num_stages": stages}
    attention_kernel[grid](q, k, v, out, *sizes, *strides, **options)
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
