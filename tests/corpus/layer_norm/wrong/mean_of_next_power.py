"""Padded lanes count in the sum of squares and are taken out afterwards, which cancels.

step: layer_norm
expect: failed
cause: variance_wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, R, C, stride_r, stride_c, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK).to(tl.int64)
    for index in range(tl.program_id(0), R, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / C
        d = x - mean
        v = tl.sum(d * d, axis=0) / C - (BLOCK - C) * mean * mean / C
        tl.store(out_ptr + row * C + cols, d / tl.sqrt(v + eps), mask=cols < C)


def layer_norm(x, eps):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    kernel[(min(R, 64),)](x, out, R, C, x.stride(0), x.stride(1), eps, BLOCK=triton.next_power_of_2(C))
    return out
