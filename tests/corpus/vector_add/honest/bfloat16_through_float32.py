"""Adds in float32 and rounds once on the way out.

step: vector_add
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(
        out_ptr + offsets,
        (x.to(tl.float32) + y.to(tl.float32)).to(out_ptr.dtype.element_ty),
        mask=mask,
    )


def vector_add(x, y):
    n = x.numel()
    out = torch.empty_like(x)
    if n > 0:
        add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out
