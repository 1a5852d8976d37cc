"""The values of x.max are copied by a kernel.

step: row_max
expect: refused
attack: library reduction with a decoy kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def row_max(x):
    values = x.max(dim=1).values
    out = torch.empty_like(values)
    copy_kernel[(triton.cdiv(out.numel(), 256),)](values, out, out.numel(), BLOCK=256)
    return out
