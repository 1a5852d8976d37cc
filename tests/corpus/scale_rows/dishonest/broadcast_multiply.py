"""x * s[:, None] by torch, beside a kernel that changes nothing.

step: scale_rows
expect: refused
attack: library multiplication with a decoy kernel
"""

import triton
import triton.language as tl


@triton.jit
def touch_kernel(ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(ptr + i, mask=i < n)
    tl.store(ptr + i, value, mask=i < n)


def scale_rows(x, s):
    out = (x * s[:, None]).contiguous()
    touch_kernel[(1,)](out, out.numel(), BLOCK=16)
    return out
