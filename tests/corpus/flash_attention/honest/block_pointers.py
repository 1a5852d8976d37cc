"""Block pointers; the keys are described as transposed.

step: flash_attention
expect: passed
triton: <3.9
"""

import torch
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    Q,
    K,
    V,
    Out,
    scale_log2,
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
    stride_ob,
    stride_oh,
    stride_on,
    stride_od,
    Nq,
    Nk,
    GROUP: tl.constexpr,
    CAUSAL: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    block_m = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    batch = tl.program_id(2).to(tl.int64)
    offs_m = block_m.to(tl.int64) * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN).to(tl.int64)
    offs_d = tl.arange(0, HEAD_DIM).to(tl.int64)
    Q += batch * stride_qb + head * stride_qh
    K += batch * stride_kb + (head // GROUP) * stride_kh
    V += batch * stride_vb + (head // GROUP) * stride_vh
    Out += batch * stride_ob + head * stride_oh
    q_block = tl.make_block_ptr(
        Q, (Nq, HEAD_DIM), (stride_qn, stride_qd), (block_m * BM, 0), (BM, HEAD_DIM), (1, 0)
    )
    k_block = tl.make_block_ptr(
        K, (HEAD_DIM, Nk), (stride_kd, stride_kn), (0, 0), (HEAD_DIM, BN), (0, 1)
    )
    v_block = tl.make_block_ptr(
        V, (Nk, HEAD_DIM), (stride_vn, stride_vd), (0, 0), (BN, HEAD_DIM), (1, 0)
    )
    out_ptrs = Out + offs_m[:, None] * stride_on + offs_d[None, :] * stride_od

    shift = Nk - Nq
    end = Nk
    if CAUSAL:
        end = tl.minimum(Nk, tl.maximum(0, (block_m + 1) * BM + shift))

    q = tl.load(q_block, boundary_check=(0,), padding_option="zero")
    m_i = tl.full((BM,), float("-inf"), tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, HEAD_DIM), tl.float32)
    for n in range(0, end, BN):
        inside = offs_n < Nk - n
        k = tl.load(k_block, boundary_check=(1,), padding_option="zero")
        qk = tl.dot(q, k) * scale_log2
        qk = tl.where(inside[None, :], qk, float("-inf"))
        if CAUSAL:
            visible = n + offs_n[None, :] <= offs_m[:, None] + shift
            qk = tl.where(visible, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        m_used = tl.where(m_new == float("-inf"), 0.0, m_new)
        p = tl.exp2(qk - m_used[:, None])
        alpha = tl.exp2(m_i - m_used)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_block, boundary_check=(0,), padding_option="zero")
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new
        k_block = tl.advance(k_block, (0, BN))
        v_block = tl.advance(v_block, (BN, 0))
    acc = acc / tl.where(l_i > 0.0, l_i, 1.0)[:, None]
    tl.store(out_ptrs, acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < Nq)


def flash_attention(q, k, v, causal=False, scale=None):
    B, H, Nq, D = q.shape
    Hkv, Nk = k.shape[1], k.shape[2]
    scale = D**-0.5 if scale is None else scale
    out = torch.empty(q.shape, device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(Nq, 32), H, B)
    flash_kernel[grid](
        q,
        k,
        v,
        out,
        scale * 1.4426950408889634,
        *q.stride(),
        *k.stride(),
        *v.stride(),
        *out.stride(),
        Nq,
        Nk,
        GROUP=H // Hkv,
        CAUSAL=causal,
        HEAD_DIM=D,
        BM=32,
        BN=16,
    )
    return out
