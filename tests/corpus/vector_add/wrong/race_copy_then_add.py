"""The second half of the programs reads what the first half has copied into the result.

step: vector_add
expect: failed
cause: race
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, copy_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    if tl.program_id(1) == 0:
        tl.store(copy_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
    else:
        x = tl.load(copy_ptr + offsets, mask=mask)
        y = tl.load(y_ptr + offsets, mask=mask)
        tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    n = x.numel()
    out = torch.empty_like(x)
    if n > 0:
        add_kernel[(triton.cdiv(n, 256), 2)](x, y, torch.empty_like(x), out, n, BLOCK=256)
    return out
