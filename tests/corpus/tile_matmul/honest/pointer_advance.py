"""Pointers advance by a block of 16 along K.

step: tile_matmul
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(a_ptr, b_ptr, c_ptr, K, am, ak, bk, bn, BLOCK_K: tl.constexpr):
    lane = tl.arange(0, 32).to(tl.int64)
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + lane[:, None] * am + ks[None, :] * ak
    b_ptrs = b_ptr + ks[:, None] * bk + lane[None, :] * bn
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(ks < K - k)[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=(ks < K - k)[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * tl.cast(ak, tl.int64)
        b_ptrs += BLOCK_K * tl.cast(bk, tl.int64)
    tl.store(c_ptr + lane[:, None] * 32 + lane[None, :], acc)


def tile_matmul(a, b):
    c = torch.empty((32, 32), device=a.device, dtype=torch.float32)
    tile_kernel[(1,)](a, b, c, a.shape[1], *a.stride(), *b.stride(), BLOCK_K=16)
    return c
