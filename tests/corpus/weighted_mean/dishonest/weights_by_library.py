"""The kernel only adds up what the library has computed.

step: weighted_mean
expect: refused
attack: the softmax is a library call
"""

import torch
import triton
import triton.language as tl


@triton.jit
def dot_kernel(p_ptr, v_ptr, out_ptr, C, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    acc = tl.full((), 0.0, tl.float32)
    for start in range(0, C, BLOCK):
        mask = start + cols < C
        p = tl.load(p_ptr + tl.program_id(0) * C + start + cols, mask=mask, other=0.0)
        acc += tl.sum(p * tl.load(v_ptr + start + cols, mask=mask, other=0.0), axis=0)
    tl.store(out_ptr + tl.program_id(0), acc)


def weighted_mean(x, v):
    R, C = x.shape
    p = torch.softmax(x.float(), dim=1).nan_to_num(0.0)
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    dot_kernel[(R,)](p, v.float().contiguous(), out, C, BLOCK=256)
    return out
