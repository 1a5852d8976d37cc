"""The accumulator starts in float16 and is float32 after the first step.

step: tile_matmul
expect: failed
cause: does_not_compile | low_precision_accumulator
"""

import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(a_ptr, b_ptr, c_ptr, K, am, ak, bk, bn, T: tl.constexpr, STEP: tl.constexpr):
    i = tl.arange(0, T).to(tl.int64)
    acc = tl.zeros((T, T), dtype=tl.float16)
    for block in range(tl.cdiv(K, STEP)):
        k = block * STEP + tl.arange(0, STEP).to(tl.int64)
        a = tl.load(a_ptr + i[:, None] * am + k[None, :] * ak, mask=k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + i[None, :] * bn, mask=k[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + i[:, None] * T + i[None, :], acc)


def tile_matmul(a, b):
    K = a.size(1)
    c = torch.full((32, 32), float("nan"), device=a.device)
    tile_kernel[1, 1, 1](
        a, b, c, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), T=32, STEP=64
    )
    return c
