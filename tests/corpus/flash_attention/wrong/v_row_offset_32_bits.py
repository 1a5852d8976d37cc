"""Offsets of the rows of v are 32 bits wide.

step: flash_attention
expect: failed
cause: offset_overflow
"""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    H,
    Hkv,
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
    g = h // (H // Hkv)
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    d = tl.arange(0, D).to(tl.int64)[None, :]
    q_at = q_ptr + b * qb + h * qh + rows * qn + d * qd
    q = tl.load(q_at, mask=rows < Nq, other=0.0)
    top = tl.full((BLOCK_M, 1), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M, 1), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, Nk, BLOCK_N):
        keys = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        k_at = k_ptr + b * kb + g * kh + keys[None, :] * kn + tl.trans(d) * kd
        k = tl.load(k_at, mask=keys[None, :] < Nk, other=0.0)
        s = tl.dot(q, k) * scale
        seen = keys[None, :] < Nk
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows + (Nk - Nq))
        s = tl.where(seen, s, float("-inf"))
        new = tl.maximum(top, tl.max(s, axis=1, keep_dims=True))
        safe = tl.where(new == float("-inf"), 0.0, new)
        p = tl.exp(s - safe)
        factor = tl.exp(top - safe)
        total = total * factor + tl.sum(p, axis=1, keep_dims=True)
        v_at = v_ptr + b * vb + g * vh + keys.to(tl.int32)[:, None] * vn + d * vd
        v = tl.load(v_at, mask=keys[:, None] < Nk, other=0.0)
        acc = acc * factor + tl.dot(p.to(v.dtype), v)
        top = new
    out = acc / tl.where(total == 0.0, 1.0, total)
    o_at = o_ptr + ((b * H + h) * Nq + rows) * D + d
    tl.store(o_at, out.to(o_ptr.dtype.element_ty), mask=rows < Nq)


def flash_attention(q, k, v, causal=False, scale=None):
    B, H, Nq, D = q.shape
    Hkv, Nk = k.shape[1], k.shape[2]
    if scale is None:
        scale = D**-0.5
    out = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
    attention_kernel[(triton.cdiv(Nq, 32), B * H)](
        q,
        k,
        v,
        out,
        H,
        Hkv,
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
    return out
