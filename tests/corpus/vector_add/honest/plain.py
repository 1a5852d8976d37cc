"""Blocks of 64; an empty vector launches nothing.

step: vector_add
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    n = x.numel()
    out = torch.empty(n, device=x.device, dtype=x.dtype)
    if n > 0:
        grid = (triton.cdiv(n, 64),)
        add_kernel[grid](x, y, out, n, x.stride(0), y.stride(0), BLOCK=64)
    return out
