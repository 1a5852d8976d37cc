"""A kernel is launched that changes nothing; `@` does the work.

step: triton_matmul
expect: refused
attack: decoy kernel beside the operator `@`
"""

import triton
import triton.language as tl


@triton.jit
def touch_kernel(ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(ptr + i, mask=i < n)
    tl.store(ptr + i, value, mask=i < n)


def triton_matmul(a, b):
    c = (a.float() @ b.float()).to(a.dtype)
    touch_kernel[(1,)](c, c.numel(), BLOCK=16)
    return c
