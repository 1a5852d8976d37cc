"""A constant that the kernel needs is computed by a loop that never ends.

step: vector_add
expect: timed_out
attack: endless loop in a statement the grader must keep
"""

import torch
import triton
import triton.language as tl


def best_block():
    block = 1
    while block != 100:
        block *= 2
    return block


BLOCK = best_block()


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, total, mask=i < n)


def vector_add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, out, x.numel(), BLOCK=BLOCK)
    return out
