# %% [markdown]
# # Flash attention, backward
#
# The gradient of attention, in three steps:
#
# | step | function | new idea | points |
# | --- | --- | --- | --- |
# | 1 | `softmax_backward(y, dy)` | a gradient that needs a sum over its row | 5 |
# | 2 | `attention_delta(out, dout)` | that sum, without the weights | 5 |
# | 3 | `attention(q, k, v, causal=False, scale=None)` | weights made again, `torch.autograd.Function` | 20 |
#
# The ideas are explained in [chapter 13](../../book/13_flash_backward.md); the forward is that of
# [chapter 12](../../book/12_flash_attention.md). Fill in each place that says
# `YOUR CODE HERE`, delete its `raise` line, look at a small result, then run the check below it.
# You can check as often as you like. No GPU is needed.

# %%
from autograder import check
import torch
import triton
import triton.language as tl

# %% [markdown]
# ## Step 1: `softmax_backward`
#
# **A worked kernel first.** A row x is divided by its sum s: y[j] = x[j] / s. Every y depends on
# every x of its row, through s. If dy[j] says how much the loss grows with y[j], then it grows with
# x[i] by dx[i] = (dy[i] - the sum of y[j] * dy[j] over the row) / s. So the kernel takes one sum over
# the row, and subtracts it from every entry.

# %% tags=["active-ipynb"]
# @triton.jit
# def divided_by_sum_backward_kernel(x_ptr, dy_ptr, dx_ptr, C, BLOCK: tl.constexpr):
#     row = tl.program_id(0)
#     cols = tl.arange(0, BLOCK)
#     x = tl.load(x_ptr + row * C + cols, mask=cols < C, other=0.0)
#     dy = tl.load(dy_ptr + row * C + cols, mask=cols < C, other=0.0)
#     s = tl.sum(x, axis=0)
#     shared = tl.sum(x / s * dy, axis=0)
#     tl.store(dx_ptr + row * C + cols, (dy - shared) / s, mask=cols < C)
#
#
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = (1 + torch.rand(3, 5, device=device)).requires_grad_()
# dy = torch.randn(3, 5, device=device)
# (x / x.sum(dim=1, keepdim=True)).backward(dy)  # PyTorch's own gradient, to compare with
# dx = torch.empty_like(dy)
# divided_by_sum_backward_kernel[(3,)](x.detach(), dy, dx, 5, BLOCK=8)
# print("largest difference:", (dx - x.grad).abs().max().item())

# %% [markdown]
# **Your task.** The specification, in PyTorch:
#
# ```python
# def softmax_backward(y, dy):     # y is softmax(x) row by row; dy is the gradient of y
#     y, dy = y.float(), dy.float()             # (R, C) each, one dtype; the arithmetic is float32
#     shared = (y * dy).sum(dim=1, keepdim=True)
#     return (y * (dy - shared)).to(dtype)      # dx: (R, C), contiguous, in the dtype of y
# ```
#
# - R at least 1, C from 1 to 8192. `y` and `dy` may be any views, each with its own strides.
# - The kernel never sees x: the gradient of softmax needs its result only.
# - **Given:** the wrapper with the launch, the row of a program, the columns.
# - **Yours:** two loads, the sum, the store.
#
# <details>
# <summary>Hint 1: where the sum comes from</summary>
#
# Raising x[j] raises y[j], and lowers every other y of the row, because they sum to 1. The part that
# lowers is the same number for all entries but for the factor y[j]: the sum of y * dy over the row.
#
# </details>
#
# <details>
# <summary>Hint 2: lanes past the end</summary>
#
# They must add nothing to the sum: load both with `other=0.0`. The arithmetic is float32: convert
# both with `.to(tl.float32)` before you multiply.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. Load y at `y_ptr + row * stride_yr + cols * stride_yc`, masked, and convert it.
# 2. Load dy in the same way, with its own two strides.
# 3. `shared = tl.sum(y * dy, axis=0)`
# 4. Store `y * (dy - shared)` at `dx_ptr + row * C + cols`, masked.
#
# </details>


# %% nbgrader={"grade_id": "softmax_backward", "solution": true}
@triton.jit
def softmax_backward_kernel(
    y_ptr, dy_ptr, dx_ptr, C, stride_yr, stride_yc, stride_dr, stride_dc, BLOCK: tl.constexpr
):
    # int64, because a row or a column times its stride can pass 2**31, where int32 wraps round.
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    # Two loads, one sum, one store.
    ### BEGIN SOLUTION
    y = tl.load(y_ptr + row * stride_yr + cols * stride_yc, mask=cols < C, other=0.0)
    dy = tl.load(dy_ptr + row * stride_dr + cols * stride_dc, mask=cols < C, other=0.0)
    y, dy = y.to(tl.float32), dy.to(tl.float32)
    shared = tl.sum(y * dy, axis=0)
    tl.store(dx_ptr + row * C + cols, y * (dy - shared), mask=cols < C)
    ### END SOLUTION


def softmax_backward(y, dy):
    """Return the gradient of x, where y is softmax(x) row by row and dy the gradient of y."""
    R, C = y.shape
    dx = torch.empty((R, C), dtype=y.dtype, device=y.device)
    block = triton.next_power_of_2(C)
    # A warp for every 512 columns, 16 entries a lane: long rows stay in registers too.
    num_warps = min(max(block // 512, 1), 32)
    strides = (*y.stride(), *dy.stride())
    softmax_backward_kernel[(R,)](y, dy, dx, C, *strides, BLOCK=block, num_warps=num_warps)
    return dx


# %% [markdown]
# Look before you check: PyTorch's own gradient of softmax, beside yours.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# x = torch.randn(3, 5, device=device, requires_grad=True)
# dy = torch.randn(3, 5, device=device)
# y = torch.softmax(x, dim=1)
# y.backward(dy)
# print("largest difference:", (softmax_backward(y.detach(), dy) - x.grad).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "softmax_backward-check", "grade": true}
# check(softmax_backward)

# %% [markdown]
# ## Step 2: `attention_delta`
#
# In attention each row of weights is a softmax, and step 1's sum would need all Nk weights of the
# row. It need not: that sum equals the product of the row's output with the output's gradient, D
# numbers each. Chapter 13 shows why. The specification, in PyTorch:
#
# ```python
# def attention_delta(out, dout):              # (B, H, N, D) each, one dtype, any strides
#     return (out.float() * dout.float()).sum(dim=3)   # (B, H, N), float32, contiguous
# ```
#
# - D is 16, 32, 64 or 128. N may be any number.
# - `dout` is whatever PyTorch hands to a backward: after `out.sum().backward()` it is a single 1,
#   repeated by strides of 0.
# - **Given:** the wrapper, and which rows of which head a program takes.
# - **Yours:** a tile of rows of each tensor, the product summed along D, the store.
#
# <details>
# <summary>Hint 1: the tile</summary>
#
# One program takes BLOCK rows of one head: tiles of (BLOCK, D), and BLOCK sums. A row is a query;
# rows past N are masked. D is a power of two, so along D no mask is needed.
#
# </details>
#
# <details>
# <summary>Hint 2: two tensors, eight strides</summary>
#
# Each tensor has a stride for batch, head, row and d, and they need not be alike. In `out` and
# `dout` the element (b, h, n, d) lies at b * stride_b + h * stride_h + n * stride_n + d * stride_d.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# 1. Move `out_ptr` by `batch * stride_ob + head * stride_oh`.
# 2. Load the tile at `rows[:, None] * stride_on + ds[None, :] * stride_od` behind it, with the mask
#    `(rows < N)[:, None]` and `other=0.0`. Convert to float32.
# 3. The same for `dout_ptr`, with its strides.
# 4. `delta = tl.sum(out * dout, axis=1)`
# 5. Store it at `delta_ptr + (batch * H + head) * N + rows`, where `rows < N`.
#
# </details>


# %% nbgrader={"grade_id": "attention_delta", "solution": true}
@triton.jit
def delta_kernel(
    out_ptr,
    dout_ptr,
    delta_ptr,
    H,
    N,
    stride_ob,
    stride_oh,
    stride_on,
    stride_od,
    stride_db,
    stride_dh,
    stride_dn,
    stride_dd,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    head = tl.program_id(1).to(tl.int64)
    batch = tl.program_id(2).to(tl.int64)
    ds = tl.arange(0, D).to(tl.int64)
    # Two tiles, their product summed along D, one store.
    ### BEGIN SOLUTION
    out_ptr += batch * stride_ob + head * stride_oh
    out_ptrs = out_ptr + rows[:, None] * stride_on + ds[None, :] * stride_od
    out = tl.load(out_ptrs, mask=(rows < N)[:, None], other=0.0).to(tl.float32)
    dout_ptr += batch * stride_db + head * stride_dh
    dout_ptrs = dout_ptr + rows[:, None] * stride_dn + ds[None, :] * stride_dd
    dout = tl.load(dout_ptrs, mask=(rows < N)[:, None], other=0.0).to(tl.float32)
    delta = tl.sum(out * dout, axis=1)
    tl.store(delta_ptr + (batch * H + head) * N + rows, delta, mask=rows < N)
    ### END SOLUTION


def attention_delta(out, dout):
    """Return the sum of out * dout along D, (B, H, N) in float32, for two (B, H, N, D) tensors."""
    B, H, N, D = out.shape
    delta = torch.empty((B, H, N), dtype=torch.float32, device=out.device)
    grid = (triton.cdiv(N, 64), H, B)
    delta_kernel[grid](out, dout, delta, H, N, *out.stride(), *dout.stride(), D=D, BLOCK=64)
    return delta


# %% [markdown]
# Look before you check: each row of ones against ones gives D.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# ones = torch.ones(1, 2, 3, 16, device=device)
# print(attention_delta(ones, ones))
# out = torch.randn(1, 2, 5, 16, device=device)
# dout = torch.randn(1, 5, 2, 16, device=device).transpose(1, 2)
# print("largest difference:", (attention_delta(out, dout) - (out * dout).sum(3)).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "attention_delta-check", "grade": true}
# check(attention_delta)

# %% [markdown]
# ## Step 3: `attention`
#
# The function of chapter 12, now with a backward. PyTorch cannot look into a Triton kernel, so it
# must be told how gradients go through it.
#
# ```python
# def attention_backward_spec(q, k, v, dout, causal=False, scale=None):
#     # one head: q and dout (Nq, D), k and v (Nk, D), all in float32
#     p = softmax(scale * q @ k.T)         # hidden scores minus infinity, as in chapter 12
#     dv = p.T @ dout
#     dp = dout @ v.T
#     ds = p * (dp - (p * dp).sum(1, keepdim=True))    # step 1; the sum is step 2's delta
#     return scale * ds @ k, scale * ds.T @ q, dv      # dq, dk, dv
# ```
#
# - Everything as in chapter 12: any Nq and Nk, any strides, bottom-right causal mask, a query that
#   sees no key has a result of 0, and a gradient of 0.
# - Query heads that share a key head share its gradients: dk and dv sum over the group.
# - Gradients have shape and dtype of their tensors. Any subset of q, k and v may require one.
# - **Given:** the forward, which also saves each row's log-sum-exp; two kernels that walk over
#   queries and over keys, with pointers and bounds. Scores and log-sum-exp are in base 2.
# - **Yours:** what a block of queries adds to dk and dv (part 1), what a block of keys adds to dq
#   (part 2), and the backward that calls the kernels (part 3). Part 3 calls your `attention_delta`.
#
# <details>
# <summary>Hint 1: weights without a softmax</summary>
#
# The forward saved `lse`, so that a weight is 2**(s - lse) straight away: no maximum, no sum, no
# division, and any block of any row can be made alone. A hidden score is minus infinity, and its
# weight 0. A row that sees no key was given `lse` = plus infinity, so its weights are 0 as well.
#
# </details>
#
# <details>
# <summary>Hint 2: which product contracts what</summary>
#
# dv and dk sum over queries, so part 1 works on transposed tiles, (BLOCK_N, BLOCK_M): `lse` and
# `delta` belong to its columns. dq sums over keys, so part 2 works on (BLOCK_M, BLOCK_N), and
# they belong to its rows. `tl.dot(a, b, acc)` adds a product to an accumulator, and takes a and b
# in one dtype: convert the float32 weights to that of the tile they meet.
#
# </details>
#
# <details>
# <summary>Hint 3: every line in words</summary>
#
# Part 1, after the scores:
#
# 1. `p = tl.exp2(s - lse[None, :])`
# 2. `dv = tl.dot(p.to(do.dtype), do, dv)`
# 3. `dp = tl.dot(v, tl.trans(do))`
# 4. `ds = p * (dp - delta[None, :])`
# 5. `dk = tl.dot(ds.to(q.dtype), q, dk)`
#
# Part 2, after the scores: the same p with `lse[:, None]`; `dp` from `do` and v transposed; `ds`
# with `delta[:, None]`; add the product of `ds` with k to `dq`.
#
# Part 3:
#
# 1. `q, k, v, out, lse = ctx.saved_tensors`, and `delta = attention_delta(out, dout)`.
# 2. `dq = dk = dv = None`. If `ctx.needs_input_grad[0]`, then dq is what `query_gradient` returns; if
#    `ctx.needs_input_grad[1]` or `[2]`, then dk and dv are what `key_gradients` returns. Both take
#    `(q, k, v, dout, lse, delta, ctx.causal, ctx.scale)`.
# 3. Return `dq, dk, dv, None, None`: one value for each argument of forward.
#
# </details>


# %% nbgrader={"grade_id": "attention", "solution": true}
# Part 1: what a block of queries adds to the gradients of a block of keys.
@triton.jit
def add_queries(q, do, lse, delta, k, v, dk, dv, seen, scale, MASKED: tl.constexpr):
    """Return dk and dv, (BLOCK_N, D) float32, with one block of queries added.

    q and do are (BLOCK_M, D), lse and delta (BLOCK_M,), k and v (BLOCK_N, D). Where MASKED, seen
    (BLOCK_N, BLOCK_M) says which key counts for which query. dk lacks the factor of the scale.
    """
    s = tl.dot(k, tl.trans(q)) * scale
    if MASKED:
        s = tl.where(seen, s, float("-inf"))
    # The weights again; dv; the gradient of the weights, then that of the scores; dk.
    ### BEGIN SOLUTION
    p = tl.exp2(s - lse[None, :])
    dv = tl.dot(p.to(do.dtype), do, dv)
    dp = tl.dot(v, tl.trans(do))
    ds = p * (dp - delta[None, :])
    dk = tl.dot(ds.to(q.dtype), q, dk)
    ### END SOLUTION
    return dk, dv


# Part 2: what a block of keys adds to the gradient of a block of queries.
@triton.jit
def add_keys(q, do, lse, delta, k, v, dq, seen, scale, MASKED: tl.constexpr):
    """Return dq, (BLOCK_M, D) float32, with one block of keys added; tiles as in add_queries.

    Where MASKED, seen (BLOCK_M, BLOCK_N) says which key counts for which query.
    """
    s = tl.dot(q, tl.trans(k)) * scale
    if MASKED:
        s = tl.where(seen, s, float("-inf"))
    # The weights again, the gradient of the scores, dq.
    ### BEGIN SOLUTION
    p = tl.exp2(s - lse[:, None])
    dp = tl.dot(do, tl.trans(v))
    ds = p * (dp - delta[:, None])
    dq = tl.dot(ds.to(k.dtype), k, dq)
    ### END SOLUTION
    return dq


# Given from here to part 3: the forward of chapter 12, and the kernels that walk over blocks.
@triton.jit
def load_rows(ptr, start, end, stride, ROWS: tl.constexpr, D: tl.constexpr):
    """Rows start to start + ROWS of a head, (ROWS, D); those from `end` on are zeros."""
    rows = tl.arange(0, ROWS)
    ptrs = ptr + start * stride + (rows * stride)[:, None] + tl.arange(0, D)[None, :]
    return tl.load(ptrs, mask=(rows < end - start)[:, None], other=0.0)


@triton.jit
def store_rows(ptr, start, end, values, ROWS: tl.constexpr, D: tl.constexpr):
    """Store values (ROWS, D) as rows from start on of a contiguous head, but none from `end` on."""
    rows = tl.arange(0, ROWS)
    ptrs = ptr + start * D + (rows * D)[:, None] + tl.arange(0, D)[None, :]
    tl.store(ptrs, values.to(ptr.dtype.element_ty), mask=(rows < end - start)[:, None])


@triton.jit
def keys_to_visit(
    first, Nq, Nk, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Two numbers for the block of queries that begins at `first`: keys before the one are seen by
    all of its queries, keys from the other on by none."""
    full = Nk
    end = Nk
    if CAUSAL:
        offset = Nk - Nq  # query i sees keys up to i + offset
        full = tl.minimum(tl.maximum(first + offset + 1, 0), Nk)
        end = tl.minimum(tl.maximum(first + BLOCK_M + offset, 0), Nk)
    return full // BLOCK_N * BLOCK_N, end


@triton.jit
def attend(q, k, v, m, l, acc, seen, scale, MASKED: tl.constexpr):
    s = tl.dot(q, tl.trans(k)) * scale
    if MASKED:
        s = tl.where(seen, s, float("-inf"))
    new_m = tl.maximum(m, tl.max(s, 1))
    base = new_m
    if MASKED:  # a query that has seen no key yet
        base = tl.where(new_m == float("-inf"), 0.0, new_m)
    p = tl.exp2(s - base[:, None])
    shrink = tl.exp2(m - base)
    l = l * shrink + tl.sum(p, 1)
    acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
    return new_m, l, acc


@triton.jit
def forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
    H,
    Nq,
    Nk,
    group,
    scale,
    stride_qb,
    stride_qh,
    stride_qn,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_vb,
    stride_vh,
    stride_vn,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # The last queries see the most keys under a causal mask: they start first.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1).to(tl.int64)  # int64: offsets of heads and batches can pass 2**31
    batch = tl.program_id(2).to(tl.int64)
    q_ptr += batch * stride_qb + head * stride_qh
    k_ptr += batch * stride_kb + head // group * stride_kh
    v_ptr += batch * stride_vb + head // group * stride_vh
    rows = first + tl.arange(0, BLOCK_M)
    q = load_rows(q_ptr, first, Nq, stride_qn, BLOCK_M, D)
    full, end = keys_to_visit(first, Nq, Nk, CAUSAL, BLOCK_M, BLOCK_N)
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, full, BLOCK_N):
        k = load_rows(k_ptr, start, Nk, stride_kn, BLOCK_N, D)
        v = load_rows(v_ptr, start, Nk, stride_vn, BLOCK_N, D)
        m, l, acc = attend(q, k, v, m, l, acc, True, scale, MASKED=False)
    for start in range(full, end, BLOCK_N):
        k = load_rows(k_ptr, start, Nk, stride_kn, BLOCK_N, D)
        v = load_rows(v_ptr, start, Nk, stride_vn, BLOCK_N, D)
        keys = start + tl.arange(0, BLOCK_N)
        seen = (keys < Nk)[None, :]
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None] + (Nk - Nq))
        m, l, acc = attend(q, k, v, m, l, acc, seen, scale, MASKED=True)
    total = tl.where(l == 0.0, 1.0, l)
    out_row = (batch * H + head) * Nq
    store_rows(out_ptr + out_row * D, first, Nq, acc / total[:, None], BLOCK_M, D)
    # The one thing more than in chapter 12: log2 of the sum of 2**s over the row. A row that sees no
    # key gets plus infinity, which makes each of its weights 2**(s - lse) = 0.
    lse = tl.where(l == 0.0, float("inf"), m + tl.log2(total))
    tl.store(lse_ptr + out_row + rows, lse, mask=rows < Nq)


@triton.jit
def key_gradients_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    H,
    Nq,
    Nk,
    group,
    scale,
    base_2_scale,
    stride_qb,
    stride_qh,
    stride_qn,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_ob,
    stride_oh,
    stride_on,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dk and dv of BLOCK_N keys: the program walks over the queries of every head that uses them."""
    # The first keys are seen by the most queries under a causal mask: they start first.
    first = tl.program_id(0) * BLOCK_N
    kv_head = tl.program_id(1).to(tl.int64)
    batch = tl.program_id(2).to(tl.int64)
    k_ptr += batch * stride_kb + kv_head * stride_kh
    v_ptr += batch * stride_vb + kv_head * stride_vh
    # Past the end the last key stands again, so that its weights stay below 1; it is stored once.
    keys = tl.minimum(first + tl.arange(0, BLOCK_N), Nk - 1)
    ds = tl.arange(0, D)
    k = tl.load(k_ptr + (keys * stride_kn)[:, None] + ds[None, :])
    v = tl.load(v_ptr + (keys * stride_vn)[:, None] + ds[None, :])
    # Queries before `begin` see none of these keys, queries from `full` on see all of them.
    begin = 0
    full = 0
    if CAUSAL:
        offset = Nk - Nq  # query i sees keys up to i + offset
        from_row = keys - offset  # the first query that sees each key
        begin = tl.maximum(first - offset, 0) // BLOCK_M * BLOCK_M
        full = tl.cdiv(tl.maximum(first + BLOCK_N - 1 - offset, 0), BLOCK_M) * BLOCK_M
        full = tl.minimum(full, tl.cdiv(Nq, BLOCK_M) * BLOCK_M)
    cols = tl.arange(0, BLOCK_M)  # queries past the end are zeros as well, and add 0 to dk and dv
    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    for member in range(group):
        head = kv_head * group + member
        q_head = q_ptr + batch * stride_qb + head * stride_qh
        do_head = do_ptr + batch * stride_ob + head * stride_oh
        lse_head = lse_ptr + (batch * H + head) * Nq
        delta_head = delta_ptr + (batch * H + head) * Nq
        if CAUSAL:
            for start in range(begin, full, BLOCK_M):
                q = load_rows(q_head, start, Nq, stride_qn, BLOCK_M, D)
                do = load_rows(do_head, start, Nq, stride_on, BLOCK_M, D)
                rows = start + cols
                lse = tl.load(lse_head + rows, mask=rows < Nq, other=0.0)
                delta = tl.load(delta_head + rows, mask=rows < Nq, other=0.0)
                seen = from_row[:, None] <= rows[None, :]
                dk, dv = add_queries(
                    q, do, lse, delta, k, v, dk, dv, seen, base_2_scale, MASKED=True
                )
        for start in range(full, Nq, BLOCK_M):
            q = load_rows(q_head, start, Nq, stride_qn, BLOCK_M, D)
            do = load_rows(do_head, start, Nq, stride_on, BLOCK_M, D)
            rows = start + cols
            lse = tl.load(lse_head + rows, mask=rows < Nq, other=0.0)
            delta = tl.load(delta_head + rows, mask=rows < Nq, other=0.0)
            dk, dv = add_queries(q, do, lse, delta, k, v, dk, dv, True, base_2_scale, MASKED=False)
    kv_row = (batch * tl.num_programs(1) + kv_head) * Nk
    store_rows(dk_ptr + kv_row * D, first, Nk, dk * scale, BLOCK_N, D)
    store_rows(dv_ptr + kv_row * D, first, Nk, dv, BLOCK_N, D)


@triton.jit
def query_gradient_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    H,
    Nq,
    Nk,
    group,
    scale,
    base_2_scale,
    stride_qb,
    stride_qh,
    stride_qn,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_ob,
    stride_oh,
    stride_on,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dq of BLOCK_M queries of one head: the program walks over the keys, as the forward does."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1).to(tl.int64)
    batch = tl.program_id(2).to(tl.int64)
    q_ptr += batch * stride_qb + head * stride_qh
    do_ptr += batch * stride_ob + head * stride_oh
    k_ptr += batch * stride_kb + head // group * stride_kh
    v_ptr += batch * stride_vb + head // group * stride_vh
    rows = first + tl.arange(0, BLOCK_M)
    q = load_rows(q_ptr, first, Nq, stride_qn, BLOCK_M, D)
    do = load_rows(do_ptr, first, Nq, stride_on, BLOCK_M, D)
    out_row = (batch * H + head) * Nq
    lse = tl.load(lse_ptr + out_row + rows, mask=rows < Nq, other=0.0)
    delta = tl.load(delta_ptr + out_row + rows, mask=rows < Nq, other=0.0)
    full, end = keys_to_visit(first, Nq, Nk, CAUSAL, BLOCK_M, BLOCK_N)
    dq = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, full, BLOCK_N):
        k = load_rows(k_ptr, start, Nk, stride_kn, BLOCK_N, D)
        v = load_rows(v_ptr, start, Nk, stride_vn, BLOCK_N, D)
        dq = add_keys(q, do, lse, delta, k, v, dq, True, base_2_scale, MASKED=False)
    for start in range(full, end, BLOCK_N):
        k = load_rows(k_ptr, start, Nk, stride_kn, BLOCK_N, D)
        v = load_rows(v_ptr, start, Nk, stride_vn, BLOCK_N, D)
        keys = start + tl.arange(0, BLOCK_N)
        seen = (keys < Nk)[None, :]
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None] + (Nk - Nq))
        dq = add_keys(q, do, lse, delta, k, v, dq, seen, base_2_scale, MASKED=True)
    store_rows(dq_ptr + out_row * D, first, Nq, dq * scale, BLOCK_M, D)


LOG2_E = 1.4426950408889634


def on_hopper(x):
    """Whether x lies on an H100 or its like, whose programs have more shared memory to themselves."""
    if x.device.type == "cpu":
        return False
    target = triton.runtime.driver.active.get_current_target()
    return (target.backend, target.arch) == ("cuda", 90)


# Tiles, warps and stages of the three kernels that multiply, by head dimension and bytes per number. The
# accumulators of a program, with the tiles beside them, must fit the registers of its threads.
def tiles(block_m, block_n, warps, stages):
    return {"BLOCK_M": block_m, "BLOCK_N": block_n, "num_warps": warps, "num_stages": stages}


def forward_tiles(D, itemsize, hopper):
    if itemsize == 4:
        return tiles(64, 32, 4, 2)
    if D == 128:
        return tiles(128, 64, 8, 3) if hopper else tiles(128, 32, 8, 2)
    return tiles(128, 64, 8 if D == 64 else 4, 3)


def key_tiles(D, itemsize, hopper):
    if itemsize == 4:
        return tiles(16 if D == 128 else 32, 32, 4, 2)
    if hopper and D >= 64:
        return tiles(32 if D == 128 else 64, 64, 4, 3)
    return tiles(32, 64, 4, 2)


def query_tiles(D, itemsize, hopper):
    if itemsize == 4:
        return tiles(32, 32, 4, 2 if D == 128 else 3)
    if hopper and D >= 64:
        return tiles(128, 64, 8, 3) if D == 128 else tiles(64, 64, 4, 3)
    return tiles(128, 64 if D == 64 else 32, 8, 2)


def with_dense_rows(x):
    """x, or a copy of it where a row is not dense or lies 2**31 elements or more into its head."""
    easy = x.stride(3) == 1 and x.stride(2) * x.shape[2] < 2**31
    return x if easy else x.contiguous()


def attention_forward(q, k, v, causal, scale):
    """Return the result, contiguous, in the dtype of q, and lse (B, H, Nq) in float32."""
    B, H, Nq, D = q.shape
    Hkv, Nk = k.shape[1:3]
    out = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
    lse = torch.empty((B, H, Nq), device=q.device, dtype=torch.float32)
    options = forward_tiles(D, q.element_size(), on_hopper(q))
    grid = (triton.cdiv(Nq, options["BLOCK_M"]), H, B)
    sizes = (H, Nq, Nk, H // Hkv, scale * LOG2_E)
    strides = [s for x in (q, k, v) for s in x.stride()[:3]]
    forward_kernel[grid](q, k, v, out, lse, *sizes, *strides, D=D, CAUSAL=causal, **options)
    return out, lse


def key_gradients(q, k, v, dout, lse, delta, causal, scale):
    """Return dk and dv, contiguous, in the dtype of k."""
    B, H, Nq, D = q.shape
    Hkv, Nk = k.shape[1:3]
    dk, dv = (torch.empty((B, Hkv, Nk, D), device=k.device, dtype=k.dtype) for _ in range(2))
    options = key_tiles(D, q.element_size(), on_hopper(q))
    grid = (triton.cdiv(Nk, options["BLOCK_N"]), Hkv, B)
    sizes = (H, Nq, Nk, H // Hkv, scale, scale * LOG2_E)
    strides = [s for x in (q, k, v, dout) for s in x.stride()[:3]]
    key_gradients_kernel[grid](
        q, k, v, dout, lse, delta, dk, dv, *sizes, *strides, D=D, CAUSAL=causal, **options
    )
    return dk, dv


def query_gradient(q, k, v, dout, lse, delta, causal, scale):
    """Return dq, contiguous, in the dtype of q."""
    B, H, Nq, D = q.shape
    Hkv, Nk = k.shape[1:3]
    dq = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
    options = query_tiles(D, q.element_size(), on_hopper(q))
    grid = (triton.cdiv(Nq, options["BLOCK_M"]), H, B)
    sizes = (H, Nq, Nk, H // Hkv, scale, scale * LOG2_E)
    strides = [s for x in (q, k, v, dout) for s in x.stride()[:3]]
    query_gradient_kernel[grid](
        q, k, v, dout, lse, delta, dq, *sizes, *strides, D=D, CAUSAL=causal, **options
    )
    return dq


# Part 3: what PyTorch calls.
class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        q, k, v = with_dense_rows(q), with_dense_rows(k), with_dense_rows(v)
        out, lse = attention_forward(q, k, v, causal, scale)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.causal, ctx.scale = causal, scale
        return out

    @staticmethod
    def backward(ctx, dout):
        dout = with_dense_rows(dout)
        # The saved tensors, delta, the gradients that are wanted, one value for each argument.
        ### BEGIN SOLUTION
        q, k, v, out, lse = ctx.saved_tensors
        delta = attention_delta(out, dout)
        given = (q, k, v, dout, lse, delta, ctx.causal, ctx.scale)
        dq = dk = dv = None
        if ctx.needs_input_grad[0]:
            dq = query_gradient(*given)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            dk, dv = key_gradients(*given)
        return dq, dk, dv, None, None
        ### END SOLUTION


def attention(q, k, v, causal=False, scale=None):
    """Return softmax(scale * q @ k.T) @ v head by head, differentiable in q, k and v.

    q is (B, H, Nq, D), k and v are (B, Hkv, Nk, D), and Hkv divides H. With `causal` the last query
    sees every key, each one before it one key less; a query that sees no key gives zeros.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return Attention.apply(q, k, v, causal, scale)


# %% [markdown]
# Look before you check: PyTorch's own gradients, beside yours, with two query heads to each key head.

# %% tags=["active-ipynb"]
# device = "cuda" if torch.cuda.is_available() else "cpu"
# q = torch.randn(1, 4, 20, 32, device=device, requires_grad=True)
# k = torch.randn(1, 2, 52, 32, device=device, requires_grad=True)
# v = torch.randn(1, 2, 52, 32, device=device, requires_grad=True)
# dout = torch.randn(1, 4, 20, 32, device=device)
# keys, values = (x.repeat_interleave(2, dim=1) for x in (k, v))
# expected = torch.softmax(q @ keys.mT * 32**-0.5, -1) @ values
# theirs = torch.autograd.grad(expected, (q, k, v), dout)
# mine = torch.autograd.grad(attention(q, k, v), (q, k, v), dout)
# for name, one, other in zip("qkv", mine, theirs):
#     print(f"d{name}, largest difference:", (one - other).abs().max().item())

# %% tags=["active-ipynb"] nbgrader={"grade_id": "attention-check", "grade": true}
# check(attention)
