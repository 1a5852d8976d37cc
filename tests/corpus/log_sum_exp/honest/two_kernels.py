"""A kernel for the maxima and another for the sums.

step: log_sum_exp
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def max_kernel(x_ptr, m_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    best = float("-inf")
    for start in range(0, C, BLOCK):
        ptrs = x_ptr + row * stride_r + (start + cols) * stride_c
        x = tl.load(ptrs, mask=cols < C - start, other=float("-inf"))
        best = tl.maximum(best, tl.max(x.to(tl.float32), axis=0))
    tl.store(m_ptr + row, best)


@triton.jit
def sum_kernel(x_ptr, m_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    m = tl.load(m_ptr + row)
    total = 0.0
    for start in range(0, C, BLOCK):
        in_row = cols < C - start
        x = tl.load(x_ptr + row * stride_r + (start + cols) * stride_c, mask=in_row, other=0.0)
        total += tl.sum(tl.where(in_row, tl.exp(x.to(tl.float32) - m), 0.0), axis=0)
    tl.store(out_ptr + row, m + tl.log(total))


def log_sum_exp(x):
    R, C = x.shape
    m = torch.empty(R, dtype=torch.float32, device=x.device)
    out = torch.empty_like(m)
    max_kernel[(R,)](x, m, C, *x.stride(), BLOCK=256)
    sum_kernel[(R,)](x, m, out, C, *x.stride(), BLOCK=128)
    return out
