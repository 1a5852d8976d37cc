"""A pass for the maximum and the sum, another for the mean.

step: weighted_mean
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, v_ptr, out_ptr, C, stride_r, stride_c, stride_v, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    m = tl.full((), float("-inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    acc = tl.full((), 0.0, tl.float32)
    for start in range(0, C, BLOCK):
        in_row = cols < C - start
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=in_row, other=float("-inf"))
        x = x.to(tl.float32)
        new_m = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(new_m == float("-inf"), 0.0, new_m)
        p = tl.exp(x - base)
        total = total * tl.exp(m - base) + tl.sum(p, axis=0)
        m = new_m
    base = tl.where(m == float("-inf"), 0.0, m)
    for start in range(0, C, BLOCK):
        in_row = cols < C - start
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=in_row, other=float("-inf"))
        v = tl.load(v_ptr + (start + cols) * stride_v, mask=in_row, other=0.0)
        acc += tl.sum(tl.exp(x.to(tl.float32) - base) * v.to(tl.float32), axis=0)
    tl.store(out_ptr + row, acc / tl.where(total == 0.0, 1.0, total))


def weighted_mean(x, v):
    R, C = x.shape
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    mean_kernel[(R,)](x, v, out, C, *x.stride(), *v.stride(), BLOCK=256)
    return out
