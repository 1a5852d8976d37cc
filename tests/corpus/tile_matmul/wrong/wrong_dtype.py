"""The result has the dtype of the inputs; the step asks for float32.

step: tile_matmul
expect: failed
cause: wrong_dtype
"""

import torch
import triton
import triton.language as tl


@triton.jit
def one_tile(A, B, C, K, am, ak, bk, bn, T: tl.constexpr, STEP: tl.constexpr):
    i = tl.arange(0, T).to(tl.int64)
    total = tl.zeros((T, T), dtype=tl.float32)
    for block in range(tl.cdiv(K, STEP)):
        k = block * STEP + tl.arange(0, STEP).to(tl.int64)
        inside = k < K
        a = tl.load(A + i[:, None] * am + k[None, :] * ak, mask=inside[None, :], other=0.0)
        b = tl.load(B + k[:, None] * bk + i[None, :] * bn, mask=inside[:, None], other=0.0)
        total += tl.dot(a, b)
    tl.store(C + i[:, None] * T + i[None, :], total)


def tile_matmul(a, b):
    K = a.shape[1]
    c = torch.empty((32, 32), device=a.device, dtype=a.dtype)
    one_tile[(1,)](a, b, c, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), T=32, STEP=16)
    return c
