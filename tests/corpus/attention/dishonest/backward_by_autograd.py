"""The forward is a kernel; the backward differentiates PyTorch's operators.

step: attention
expect: refused
attack: half of the work by the library
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
        with torch.enable_grad():
            q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
            group = q.shape[1] // k.shape[1]
            keys, values = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
            s = q.float() @ keys.float().mT * ctx.scale
            if ctx.causal:
                i = torch.arange(q.shape[2], device=q.device)[:, None]
                j = torch.arange(k.shape[2], device=q.device)[None, :]
                s = s.masked_fill(j > i + k.shape[2] - q.shape[2], float("-inf"))
            p = torch.softmax(s, -1).nan_to_num()
            result = (p @ values.float()).to(q.dtype)
            grads = torch.autograd.grad(result, (q, k, v), g)
        return *grads, None, None


def attention(q, k, v, causal=False, scale=None):
    if scale is None:
        scale = q.shape[-1] ** -0.5
    return Attention.apply(q, k, v, causal, scale)
