"""F.linear with the transposed second factor is the product.

step: triton_matmul
expect: refused
attack: library product under another name
"""

import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def touch_kernel(ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(ptr + i, mask=i < n)
    tl.store(ptr + i, value, mask=i < n)


def triton_matmul(a, b):
    c = F.linear(a.float(), b.float().t()).to(a.dtype)
    touch_kernel[(1,)](c, 1, BLOCK=16)
    return c
