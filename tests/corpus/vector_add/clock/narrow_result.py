"""Timed results are written in half as many bits, and the harness's copy widens them.

step: vector_add
expect: passed
timed: failed|refused
attack: less memory traffic by another dtype than that asked for
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


NARROW = {
    torch.float32: torch.float16,
    torch.float16: torch.float8_e4m3fn,
    torch.bfloat16: torch.float8_e5m2,
}


def vector_add(x, y):
    if x.numel() < LARGE:
        return add(x, y)
    out = torch.empty(x.shape, device=x.device, dtype=NARROW[x.dtype])
    grid = (triton.cdiv(x.numel(), 1024),)
    add_kernel[grid](x, y, out, x.numel(), *x.stride(), *y.stride(), BLOCK=1024)
    return out
