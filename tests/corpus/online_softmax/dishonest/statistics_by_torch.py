"""The library makes the maximum and the log-sum-exp, the kernel normalises.

step: online_softmax
expect: refused
attack: the first pass by library operators
"""

import torch
import triton
import triton.language as tl


@triton.jit
def normalise_kernel(x_ptr, lse_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    lse = tl.load(lse_ptr + row)
    for start in range(0, C, BLOCK):
        mask = start + cols < C
        offsets = row * stride_r + (start + cols) * stride_c
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * C + start + cols, tl.exp(x - lse), mask=mask)


def online_softmax(x):
    R, C = x.shape
    lse = torch.logsumexp(x.float(), dim=1)
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    normalise_kernel[(R,)](x, lse, out, C, x.stride(0), x.stride(1), BLOCK=1024)
    return out
