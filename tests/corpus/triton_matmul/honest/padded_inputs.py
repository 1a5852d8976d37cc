"""Inputs are padded to whole tiles, so the kernel needs no mask; the result is cut out.

step: triton_matmul
expect: passed
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def whole_tiles_kernel(a_ptr, b_ptr, c_ptr, N, K, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    rows = tl.program_id(0) * BLOCK + lane
    cols = tl.program_id(1) * BLOCK + lane
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + rows[:, None] * K + (k + lane)[None, :])
        b = tl.load(b_ptr + (k + lane)[:, None] * N + cols[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc.to(c_ptr.dtype.element_ty))


def pad(t, block):
    rows, cols = t.shape
    return F.pad(t, (0, -cols % block, 0, -rows % block)).contiguous()


def triton_matmul(a, b):
    block = 32
    M, N = a.shape[0], b.shape[1]
    a, b = pad(a, block), pad(b, block)
    c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
    grid = (a.shape[0] // block, b.shape[1] // block)
    whole_tiles_kernel[grid](a, b, c, b.shape[1], a.shape[1], BLOCK=block)
    return c[:M, :N].contiguous()
