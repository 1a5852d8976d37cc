"""Plain Python multiplies and writes through ctypes; the kernel writes zeros.

step: triton_matmul
expect: refused
attack: result written through data_ptr behind the kernel
"""

import ctypes

import torch
import triton
import triton.language as tl


@triton.jit
def zero_kernel(c_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c_ptr + i, 0.0, mask=i < n)


def triton_matmul(a, b):
    left, right = a.tolist(), list(zip(*b.tolist(), strict=True))
    c = torch.empty((len(left), len(right)), dtype=torch.float32)
    zero_kernel[(triton.cdiv(c.numel(), 256),)](c, c.numel(), BLOCK=256)
    memory = (ctypes.c_float * c.numel()).from_address(c.data_ptr())
    for i, row in enumerate(left):
        for j, column in enumerate(right):
            memory[i * len(right) + j] = sum(x * y for x, y in zip(row, column, strict=True))
    return c.to(a.dtype)
