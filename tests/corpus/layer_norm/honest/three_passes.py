"""Blocks of 256 columns: a pass for the mean, one for the variance, one for the result.

step: layer_norm
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, out_ptr, C, stride_r, stride_c, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, C, BLOCK):
        total += tl.load(row_ptr + (start + cols) * stride_c, mask=cols < C - start, other=0.0)
    mean = tl.sum(total, axis=0) / C
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, C, BLOCK):
        in_row = cols < C - start
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=in_row, other=0.0).to(tl.float32)
        distance = tl.where(in_row, x - mean, 0.0)
        squares += distance * distance
    scale = tl.rsqrt(tl.sum(squares, axis=0) / C + eps)
    for start in range(0, C, BLOCK):
        in_row = cols < C - start
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=in_row, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * C + start + cols, (x - mean) * scale, mask=in_row)


def layer_norm(x, eps):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    layer_norm_kernel[(R,)](x, out, C, *x.stride(), eps, BLOCK=256)
    return out
