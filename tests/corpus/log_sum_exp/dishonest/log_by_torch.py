"""The kernel sums, and the library takes the maximum and the logarithm.

step: log_sum_exp
expect: refused
attack: library reduction before, library logarithm after
"""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, m_ptr, out_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + cols, mask=cols < C, other=float("-inf"))
    tl.store(out_ptr + row, tl.sum(tl.exp(x - tl.load(m_ptr + row)), axis=0))


def log_sum_exp(x):
    x = x.float().contiguous()
    m = x.amax(dim=1)
    out = torch.empty_like(m)
    sum_kernel[(x.shape[0],)](x, m, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return m + out.log()
