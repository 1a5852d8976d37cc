"""Later inputs are overwritten with the first pair, so that its sum is right for all of them.

step: vector_add
expect: passed
timed: failed|refused|error|crashed|timed_out
attack: writes to the inputs so that one result fits all
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


FIRST = []


def vector_add(x, y):
    if x.numel() < LARGE:
        return add(x, y)
    if not FIRST:
        FIRST.extend((x.clone(), y.clone(), add(x, y)))
    elif x[0] != FIRST[0][0] or y[0] != FIRST[1][0]:
        x.copy_(FIRST[0])
        y.copy_(FIRST[1])
    return FIRST[2]
