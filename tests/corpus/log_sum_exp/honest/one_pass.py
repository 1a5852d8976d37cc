"""One pass that brings the sum to the unit of each new maximum.

step: log_sum_exp
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    m = tl.full((1,), float("-inf"), tl.float32)
    total = tl.zeros((1,), tl.float32)
    for start in range(0, C, BLOCK):
        ptrs = row_ptr + (start + cols) * stride_c
        x = tl.load(ptrs, mask=cols < C - start, other=float("-inf")).to(tl.float32)
        new_m = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(new_m == float("-inf"), 0.0, new_m)
        total = total * tl.exp(m - base) + tl.sum(tl.exp(x - base), axis=0)
        m = new_m
    tl.store(out_ptr + row + tl.arange(0, 1), m + tl.log(total))


def log_sum_exp(x):
    R, C = x.shape
    out = torch.empty((R,), dtype=torch.float32, device=x.device)
    BLOCK = min(triton.next_power_of_2(C), 512)
    log_sum_exp_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return out
