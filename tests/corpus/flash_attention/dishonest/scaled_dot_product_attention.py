"""The library computes attention; a kernel copies it to the output.

step: flash_attention
expect: refused
attack: library attention with a decoy kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


def flash_attention(q, k, v, causal=False, scale=None):
    nq, nk = q.shape[2], k.shape[2]
    mask = torch.ones(nq, nk, dtype=torch.bool, device=q.device)
    if causal:
        mask = mask.tril(nk - nq)
    answer = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), mask, scale=scale, enable_gqa=True
    )
    answer = answer.nan_to_num().to(q.dtype).contiguous()
    out = torch.empty_like(answer)
    copy_kernel[(triton.cdiv(out.numel(), 1024),)](answer, out, out.numel(), BLOCK=1024)
    return out
