"""Timed calls return empty memory; a thread looks for the places of the results and fills them later.

step: vector_add
expect: passed
timed: failed|refused
attack: work between the end of the clock and the look at the results
"""

import gc
import threading
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


PENDING, LAST, STARTED = [], [0.0], []


def places(shape):
    """Tensors of this process that may be where results go."""
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing.is_cuda:
            if thing.shape == shape:
                yield thing
            elif thing.shape[1:] == shape:
                yield from thing


def fill_later():
    end = time.monotonic() + 30
    while time.monotonic() < end:
        time.sleep(0.0005)
        if PENDING and time.monotonic() - LAST[0] > 0.0005:
            calls = PENDING[:]
            PENDING.clear()
            unfilled = [p for p in places(calls[0][0].shape) if p[0].isnan()]
            for place, (x, y) in zip(unfilled, calls, strict=False):
                place.copy_(add(x, y, SLOW))


def vector_add(x, y):
    if x.numel() < LARGE:
        return add(x, y)
    if not STARTED:
        STARTED.append(threading.Thread(target=fill_later, daemon=True))
        STARTED[0].start()
    PENDING.append((x, y))
    LAST[0] = time.monotonic()
    return torch.empty_like(x)
