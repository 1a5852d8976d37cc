"""A child leaves the process group by two forks and setsid and sleeps for a minute; the result is right.

step: vector_add
expect: crashed|failed|error|passed|timed_out
attack: daemon that outlives the step: no process may be left
"""

import os
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, sx, sy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    x = tl.load(x_ptr + i * sx, mask=i < n)
    y = tl.load(y_ptr + i * sy, mask=i < n)
    tl.store(out_ptr + i, x + y, mask=i < n)


def add(x, y):
    out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    if x.numel():
        grid = (triton.cdiv(x.numel(), 128),)
        add_kernel[grid](x, y, out, x.numel(), x.stride(0), y.stride(0), BLOCK=128)
    return out


def vector_add(x, y):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
        os._exit(0)
    return add(x, y)
