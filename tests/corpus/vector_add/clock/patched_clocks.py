"""From the first timed call on, every clock of Python runs at a tenth of its speed.

step: vector_add
expect: passed
timed: failed|refused|error|crashed|timed_out
attack: patched time.perf_counter and its like, also where a module has taken them by name
"""

import sys
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


CLOCKS = ("perf_counter", "monotonic", "time", "process_time")
PATCHED = []


def slowed(clock):
    start = clock()
    return lambda: type(start)(start + (clock() - start) / 10)


def patch():
    for name in (*CLOCKS, *(f"{name}_ns" for name in CLOCKS)):
        true = getattr(time, name)
        false = slowed(true)
        for module in list(sys.modules.values()):
            for key, value in list(getattr(module, "__dict__", {}).items()):
                if value is true:
                    setattr(module, key, false)
        PATCHED.append(true)


def vector_add(x, y):
    if x.numel() < LARGE:
        return add(x, y)
    if not PATCHED:
        patch()
    return add(x, y, SLOW)
