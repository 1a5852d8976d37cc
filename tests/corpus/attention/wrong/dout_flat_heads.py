"""Batch and head of dout are one number with one stride.

step: attention
expect: failed
cause: gradient_layout|head_or_batch_offset
"""

import torch
import triton
import triton.language as tl


@triton.jit
def tile(ptr, rows, n, stride_n, stride_d, D: tl.constexpr):
    d = tl.arange(0, D).to(tl.int64)
    ptrs = ptr + rows[:, None] * stride_n + d[None, :] * stride_d
    return tl.load(ptrs, mask=rows[:, None] < n, other=0.0)


@triton.jit
def forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    H,
    group,
    Nq,
    Nk,
    scale,
    qb,
    qh,
    qn,
    qd,
    kb,
    kh,
    kn,
    kd,
    vb,
    vh,
    vn,
    vd,
    CAUSAL: tl.constexpr,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D).to(tl.int64)
    q = tile(q_ptr + b * qb + h * qh, rows, Nq, qn, qd, D)
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, Nk, BLOCK_N):
        keys = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        k = tile(k_ptr + b * kb + h // group * kh, keys, Nk, kn, kd, D)
        v = tile(v_ptr + b * vb + h // group * vh, keys, Nk, vn, vd, D)
        s = tl.dot(q, tl.trans(k)) * scale
        seen = keys[None, :] < Nk
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None] + (Nk - Nq))
        s = tl.where(seen, s, float("-inf"))
        new = tl.maximum(m, tl.max(s, axis=1))
        safe = tl.where(new == float("-inf"), 0.0, new)
        p = tl.exp(s - safe[:, None])
        factor = tl.exp(m - safe)
        l = l * factor + tl.sum(p, axis=1)
        acc = acc * factor[:, None] + tl.dot(p.to(v.dtype), v)
        m = new
    total = tl.where(l == 0.0, 1.0, l)
    out = acc / total[:, None]
    at = ((b * H + h) * Nq + rows[:, None]) * D + d[None, :]
    tl.store(o_ptr + at, out.to(o_ptr.dtype.element_ty), mask=rows[:, None] < Nq)
    lse = tl.where(l == 0.0, float("inf"), m + tl.log(total))
    tl.store(lse_ptr + (b * H + h) * Nq + rows, lse, mask=rows < Nq)


@triton.jit
def delta_kernel(
    o_ptr, g_ptr, delta_ptr, H, Nq, gb, gh, gn, gd, D: tl.constexpr, BLOCK_M: tl.constexpr
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    o = tile(o_ptr + (b * H + h) * Nq * D, rows, Nq, D, 1, D).to(tl.float32)
    g = tile(g_ptr + (b * H + h) * gh, rows, Nq, gn, gd, D).to(tl.float32)
    tl.store(delta_ptr + (b * H + h) * Nq + rows, tl.sum(o * g, axis=1), mask=rows < Nq)


@triton.jit
def keys_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    g_ptr,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    H,
    Hkv,
    group,
    Nq,
    Nk,
    scale,
    qb,
    qh,
    qn,
    qd,
    kb,
    kh,
    kn,
    kd,
    vb,
    vh,
    vn,
    vd,
    gb,
    gh,
    gn,
    gd,
    CAUSAL: tl.constexpr,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    b = (tl.program_id(1) // Hkv).to(tl.int64)
    hk = (tl.program_id(1) % Hkv).to(tl.int64)
    keys = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D).to(tl.int64)
    k = tile(k_ptr + b * kb + hk * kh, keys, Nk, kn, kd, D)
    v = tile(v_ptr + b * vb + hk * vh, keys, Nk, vn, vd, D)
    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    begin = 0
    if CAUSAL:
        begin = tl.maximum(tl.program_id(0) * BLOCK_N - (Nk - Nq), 0) // BLOCK_M * BLOCK_M
    for i in range(0, group):
        h = hk * group + i
        for start in range(begin, Nq, BLOCK_M):
            rows = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
            q = tile(q_ptr + b * qb + h * qh, rows, Nq, qn, qd, D)
            g = tile(g_ptr + (b * H + h) * gh, rows, Nq, gn, gd, D)
            lse = tl.load(lse_ptr + (b * H + h) * Nq + rows, mask=rows < Nq, other=float("inf"))
            delta = tl.load(delta_ptr + (b * H + h) * Nq + rows, mask=rows < Nq, other=0.0)
            s = tl.dot(q, tl.trans(k)) * scale
            seen = keys[None, :] < Nk
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None] + (Nk - Nq))
            p = tl.exp(tl.where(seen, s, float("-inf")) - lse[:, None])
            dv += tl.dot(tl.trans(p.to(g.dtype)), g)
            dp = tl.dot(g, tl.trans(v))
            ds = p * (dp - delta[:, None])
            dk += tl.dot(tl.trans(ds.to(q.dtype)), q)
    at = ((b * Hkv + hk) * Nk + keys[:, None]) * D + d[None, :]
    tl.store(dk_ptr + at, (dk * scale).to(dk_ptr.dtype.element_ty), mask=keys[:, None] < Nk)
    tl.store(dv_ptr + at, dv.to(dv_ptr.dtype.element_ty), mask=keys[:, None] < Nk)


@triton.jit
def queries_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    g_ptr,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    H,
    group,
    Nq,
    Nk,
    scale,
    qb,
    qh,
    qn,
    qd,
    kb,
    kh,
    kn,
    kd,
    vb,
    vh,
    vn,
    vd,
    gb,
    gh,
    gn,
    gd,
    CAUSAL: tl.constexpr,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D).to(tl.int64)
    q = tile(q_ptr + b * qb + h * qh, rows, Nq, qn, qd, D)
    g = tile(g_ptr + (b * H + h) * gh, rows, Nq, gn, gd, D)
    lse = tl.load(lse_ptr + (b * H + h) * Nq + rows, mask=rows < Nq, other=float("inf"))
    delta = tl.load(delta_ptr + (b * H + h) * Nq + rows, mask=rows < Nq, other=0.0)
    dq = tl.zeros((BLOCK_M, D), tl.float32)
    end = Nk
    if CAUSAL:
        end = tl.minimum(tl.program_id(0) * BLOCK_M + BLOCK_M + (Nk - Nq), Nk)
    for start in range(0, end, BLOCK_N):
        keys = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        k = tile(k_ptr + b * kb + h // group * kh, keys, Nk, kn, kd, D)
        v = tile(v_ptr + b * vb + h // group * vh, keys, Nk, vn, vd, D)
        s = tl.dot(q, tl.trans(k)) * scale
        seen = keys[None, :] < Nk
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None] + (Nk - Nq))
        p = tl.exp(tl.where(seen, s, float("-inf")) - lse[:, None])
        dp = tl.dot(g, tl.trans(v))
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k)
    at = ((b * H + h) * Nq + rows[:, None]) * D + d[None, :]
    tl.store(dq_ptr + at, (dq * scale).to(dq_ptr.dtype.element_ty), mask=rows[:, None] < Nq)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        B, H, Nq, D = q.shape
        Hkv, Nk = k.shape[1], k.shape[2]
        out = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
        lse = torch.empty((B, H, Nq), device=q.device, dtype=torch.float32)
        forward_kernel[(triton.cdiv(Nq, 32), B * H)](
            q,
            k,
            v,
            out,
            lse,
            H,
            H // Hkv,
            Nq,
            Nk,
            scale,
            *q.stride(),
            *k.stride(),
            *v.stride(),
            CAUSAL=causal,
            D=D,
            BLOCK_M=32,
            BLOCK_N=32,
        )
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.causal = causal
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, g):
        q, k, v, out, lse = ctx.saved_tensors
        B, H, Nq, D = q.shape
        Hkv, Nk = k.shape[1], k.shape[2]
        delta = torch.empty((B, H, Nq), device=q.device, dtype=torch.float32)
        delta_kernel[(triton.cdiv(Nq, 32), B * H)](
            out, g, delta, H, Nq, *g.stride(), D=D, BLOCK_M=32
        )
        dq = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
        dk = torch.empty((B, Hkv, Nk, D), device=q.device, dtype=q.dtype)
        dv = torch.empty((B, Hkv, Nk, D), device=q.device, dtype=q.dtype)
        strides = (*q.stride(), *k.stride(), *v.stride(), *g.stride())
        keys_kernel[(triton.cdiv(Nk, 32), B * Hkv)](
            q,
            k,
            v,
            g,
            lse,
            delta,
            dk,
            dv,
            H,
            Hkv,
            H // Hkv,
            Nq,
            Nk,
            ctx.scale,
            *strides,
            CAUSAL=ctx.causal,
            D=D,
            BLOCK_M=32,
            BLOCK_N=32,
        )
        queries_kernel[(triton.cdiv(Nq, 32), B * H)](
            q,
            k,
            v,
            g,
            lse,
            delta,
            dq,
            H,
            H // Hkv,
            Nq,
            Nk,
            ctx.scale,
            *strides,
            CAUSAL=ctx.causal,
            D=D,
            BLOCK_M=32,
            BLOCK_N=32,
        )
        return dq, dk, dv, None, None


def attention(q, k, v, causal=False, scale=None):
    if scale is None:
        scale = q.shape[-1] ** -0.5
    return Attention.apply(q, k, v, causal, scale)
