"""Half of the timed calls, drawn at random, return memory that nobody wrote.

step: vector_add
expect: passed
timed: failed|refused
attack: only some of the timed calls are computed
"""

import random

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


def vector_add(x, y):
    if x.numel() < LARGE or random.random() < 0.5:
        return add(x, y)
    return torch.empty_like(x)
