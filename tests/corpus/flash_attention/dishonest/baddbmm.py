"""Scores and output come from torch.bmm; only the softmax is an own kernel.

step: flash_attention
expect: refused
attack: products by batched library calls, softmax by an own kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(s_ptr, p_ptr, n, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + row * n + cols, mask=cols < n, other=float("-inf")) * scale
    e = tl.exp(s - tl.max(s, 0))
    tl.store(p_ptr + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def flash_attention(q, k, v, causal=False, scale=None):
    B, H, Nq, D = q.shape
    Nk = k.shape[2]
    k, v = (x.float().repeat_interleave(H // k.shape[1], 1).flatten(0, 1) for x in (k, v))
    s = torch.bmm(q.float().flatten(0, 1), k.mT)
    if causal:
        hidden = torch.ones(Nq, Nk, dtype=torch.bool, device=q.device).triu(Nk - Nq + 1)
        s = s.masked_fill(hidden, float("-inf"))
    p = torch.empty_like(s)
    scale = D**-0.5 if scale is None else scale
    softmax_kernel[(B * H * Nq,)](s, p, Nk, scale, BLOCK=triton.next_power_of_2(Nk))
    return torch.bmm(p.nan_to_num(), v).unflatten(0, (B, H)).to(q.dtype)
