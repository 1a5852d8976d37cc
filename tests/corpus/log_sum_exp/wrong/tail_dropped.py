"""The second pass runs over whole blocks only.

step: log_sum_exp
expect: failed
cause: tail_dropped
"""

import torch
import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, C, BLOCK):
        ptrs = row_ptr + (start + cols) * stride_c
        x = tl.load(ptrs, mask=cols < C - start, other=float("-inf"))
        best = tl.maximum(best, x.to(tl.float32))
    m = tl.max(best, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, C // BLOCK * BLOCK, BLOCK):
        ptrs = row_ptr + (start + cols) * stride_c
        z = tl.load(ptrs, mask=cols < C - start, other=float("-inf"))
        total += tl.exp(z.to(tl.float32) - m)
    tl.store(out_ptr + row, m + tl.log(tl.sum(total, axis=0)))


def log_sum_exp(x):
    R, C = x.shape
    out = torch.empty((R,), dtype=torch.float32, device=x.device)
    BLOCK = min(triton.next_power_of_2(C), 512)
    log_sum_exp_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return out
