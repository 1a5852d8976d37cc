"""copy_ writes the transposed view into the result and a kernel copies it onto itself.

step: transpose
expect: refused
attack: library copy with a decoy kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def touch_kernel(ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(ptr + i, mask=i < n)
    tl.store(ptr + i, value, mask=i < n)


def transpose(x):
    out = torch.empty(x.shape[::-1], device=x.device, dtype=x.dtype)
    out.copy_(x.t())
    touch_kernel[(1,)](out, out.numel(), BLOCK=16)
    return out
