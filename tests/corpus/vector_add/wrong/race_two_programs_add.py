"""One program of each tile adds x to the zeroed result and another adds y, without atomics.

step: vector_add
expect: failed
cause: race
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    if tl.program_id(1) == 0:
        part = tl.load(x_ptr + offsets, mask=mask)
    else:
        part = tl.load(y_ptr + offsets, mask=mask)
    total = tl.load(out_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total + part, mask=mask)


def vector_add(x, y):
    n = x.numel()
    out = torch.zeros_like(x)
    if n > 0:
        add_kernel[(triton.cdiv(n, 256), 2)](x, y, out, n, BLOCK=256)
    return out
