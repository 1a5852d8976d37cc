"""The wrapper makes a contiguous float32 copy, and the kernel has one stride.

step: log_sum_exp
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, out_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + cols, mask=cols < C, other=float("-inf"))
    m = tl.max(x, axis=0)
    tl.store(out_ptr + row, tl.log(tl.sum(tl.exp(x - m), axis=0)) + m)


def log_sum_exp(x):
    x = x.float().contiguous()
    out = torch.empty(x.shape[0], device=x.device)
    log_sum_exp_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
