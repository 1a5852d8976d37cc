"""The first timed calls sleep, so that a harness which adapts to them takes few repetitions.

step: vector_add
expect: passed
timed: failed|refused
attack: slow warm-up against an adaptive number of repetitions
"""

import time

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed
SLOW = 5  # launches for one result: an honest clock finds it far too slow


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, sx, sy, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * sx, mask=i < n)
    y = tl.load(y_ptr + i * sy, mask=i < n)
    tl.store(out_ptr + i, x + y, mask=i < n)


def add(x, y, launches=1):
    out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(x.numel(), 1024),)
    for _ in range(launches if x.numel() else 0):
        add_kernel[grid](x, y, out, x.numel(), *x.stride(), *y.stride(), BLOCK=1024)
    return out


SLEEPS = [0.3] * 5


def vector_add(x, y):
    if x.numel() < LARGE:
        return add(x, y)
    if SLEEPS:
        time.sleep(SLEEPS.pop())
    return add(x, y, SLOW)
