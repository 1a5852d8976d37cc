"""bfloat16 is made by cutting 16 bits off a float32, not by rounding.

step: vector_add
expect: failed
cause: low_precision_accumulator | low_precision_output | wrong_values
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
    total = x.to(tl.float32) + y.to(tl.float32)
    if out_ptr.dtype.element_ty == tl.bfloat16:
        half = (total.to(tl.uint32, bitcast=True) >> 16).to(tl.uint16)
        total = half.to(tl.bfloat16, bitcast=True)
    tl.store(out_ptr + offsets, total, mask=mask)


def vector_add(x, y):
    n = x.numel()
    out = torch.empty_like(x)
    if n > 0:
        add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out
