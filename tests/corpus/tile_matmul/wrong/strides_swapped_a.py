"""Rows of A move by the column stride and columns by the row stride.

step: tile_matmul
expect: failed
cause: strides_swapped
"""

import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(
    a_ptr, b_ptr, c_ptr, K, stride_am, stride_ak, stride_bk, stride_bn, BLOCK_K: tl.constexpr
):
    rows = tl.arange(0, 32).to(tl.int64)[:, None]
    cols = tl.arange(0, 32).to(tl.int64)[None, :]
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + rows * stride_ak + ks[None, :] * stride_am
    b_ptrs = b_ptr + ks[:, None] * stride_bk + cols * stride_bn
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=ks[None, :] < K - k, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_am
        b_ptrs += BLOCK_K * stride_bk
    tl.store(c_ptr + rows * 32 + cols, acc)


def tile_matmul(a, b):
    c = torch.empty((32, 32), device=a.device, dtype=torch.float32)
    tile_kernel[(1,)](a, b, c, a.shape[1], *a.stride(), *b.stride(), BLOCK_K=32)
    return c
