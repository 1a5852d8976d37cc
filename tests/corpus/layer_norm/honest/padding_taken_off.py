"""Masked lanes are multiplied by the mask, which is 0 there, in place of a tl.where.

step: layer_norm
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, out_ptr, R, C, stride_r, stride_c, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK).to(tl.int64)
    for index in range(tl.program_id(0), R, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=0.0)
        x = x.to(tl.float32)
        mean = tl.sum(x, axis=0) / C
        distance = x - mean
        variance = tl.sum(distance * distance * (cols < C), axis=0) / C
        tl.store(out_ptr + row * C + cols, distance / tl.sqrt(variance + eps), mask=cols < C)


def layer_norm(x, eps):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(C)
    layer_norm_kernel[(min(R, 64),)](x, out, R, C, x.stride(0), x.stride(1), eps, BLOCK=BLOCK)
    return out
