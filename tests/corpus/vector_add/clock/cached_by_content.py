"""Timed results are kept by a sum over all of the inputs, made by a kernel.

step: vector_add
expect: passed
timed: failed|refused
attack: cache by a hash of the whole content
"""

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


@triton.jit
def digest_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32) * (i % 8191)
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


KEPT = {}


def digest(x):
    sums = torch.empty(1024, device=x.device)
    digest_kernel[(1,)](x.view(-1)[: 2**20], sums, 2**20, BLOCK=1024)
    return sums.cpu().numpy().tobytes()


def vector_add(x, y):
    if x.numel() < LARGE:
        return add(x, y)
    key = (digest(x), digest(y))
    if key not in KEPT:
        if len(KEPT) == 8:
            KEPT.clear()
        KEPT[key] = add(x, y, SLOW)
    return KEPT[key]
