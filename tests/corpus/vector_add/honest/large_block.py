"""One block as wide as the next power of two, on contiguous copies.

step: vector_add
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_all(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    y = tl.load(y_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, x + y, mask=i < n)


def vector_add(x, y):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        add_all[(1,)](x, y, out, n, BLOCK=triton.next_power_of_2(n))
    return out
