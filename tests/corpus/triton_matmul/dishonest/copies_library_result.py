"""torch makes the product and a kernel copies it into the result.

step: triton_matmul
expect: refused
attack: the kernel only moves a library result
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < n), mask=i < n)


def triton_matmul(a, b):
    product = torch.mm(a.float(), b.float()).to(a.dtype)
    c = torch.empty_like(product)
    copy_kernel[(triton.cdiv(c.numel(), 256),)](product, c, c.numel(), BLOCK=256)
    return c
