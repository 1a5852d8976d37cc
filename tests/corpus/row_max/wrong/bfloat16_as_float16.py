"""Numbers of 16 bits are taken to be float16.

step: row_max
expect: failed
cause: wrong_dtype
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, C, BLOCK):
        x = tl.load(row_ptr + (start + cols) * stride_c, mask=cols < C - start, other=float("-inf"))
        best = tl.maximum(best, x.to(tl.float32))
    tl.store(out_ptr + row, tl.max(best, axis=0))


def row_max(x):
    R, C = x.shape
    half = x.dtype != torch.float32
    out = torch.empty((R,), dtype=torch.float16 if half else torch.float32, device=x.device)
    block = min(triton.next_power_of_2(C), 1024)
    row_max_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=block)
    return out
