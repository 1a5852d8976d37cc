"""The loads have no mask, so a K that is no multiple of 32 reads past the end.

step: tile_matmul
expect: failed
cause: k_tail_unmasked
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
    a_ptrs = a_ptr + rows * stride_am + ks[None, :] * stride_ak
    b_ptrs = b_ptr + ks[:, None] * stride_bk + cols * stride_bn
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    tl.store(c_ptr + rows * 32 + cols, acc)


def tile_matmul(a, b):
    c = torch.empty((32, 32), device=a.device, dtype=torch.float32)
    tile_kernel[(1,)](a, b, c, a.shape[1], *a.stride(), *b.stride(), BLOCK_K=32)
    return c
