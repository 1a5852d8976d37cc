"""Numbers of 16 bits are taken to be float16.

step: log_sum_exp
expect: failed
cause: low_precision_input
told: strides_swapped
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, C, sr, sc, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    m = tl.full((), float("-inf"), tl.float32)
    l = tl.full((), 0.0, tl.float32)
    for start in range(0, C, BLOCK):
        x = tl.load(x_ptr + row * sr + (start + cols) * sc, mask=cols < C - start, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(x, axis=0))
        l = l * tl.exp(m - new) + tl.sum(tl.exp(x - new), axis=0)
        m = new
    tl.store(out_ptr + row, m + tl.log(l))


def log_sum_exp(x):
    R, C = x.shape
    if x.dtype != torch.float32:
        x = x.to(torch.float16)
    out = torch.empty((R,), dtype=torch.float32, device=x.device)
    kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=min(triton.next_power_of_2(C), 1024))
    return out
