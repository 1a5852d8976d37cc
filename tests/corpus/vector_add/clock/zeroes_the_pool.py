"""Timed inputs are overwritten with zeros, and the result is zeros.

step: vector_add
expect: passed
timed: failed|refused|error|crashed|timed_out
attack: writes to the inputs so that the answer becomes cheap
"""

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, sx, sy, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * sx, mask=i < n)
    y = tl.load(y_ptr + i * sy, mask=i < n)
    tl.store(out_ptr + i, x + y, mask=i < n)


def add(x, y):
    out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(x.numel(), 1024),)
    if x.numel():
        add_kernel[grid](x, y, out, x.numel(), *x.stride(), *y.stride(), BLOCK=1024)
    return out


ZEROED = set()


def vector_add(x, y):
    if x.numel() < LARGE:
        return add(x, y)
    for tensor in (x, y):
        if tensor.data_ptr() not in ZEROED:
            tensor.zero_()
            ZEROED.add(tensor.data_ptr())
    out = torch.zeros_like(x)
    add_kernel[(1,)](x, y, out, 1024, 1, 1, BLOCK=1024)
    return out
