"""NumPy multiplies where K is short.

step: split_k_matmul
expect: refused
attack: NumPy detour for some shapes
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def slice_kernel(
    A,
    B,
    P,
    M,
    N,
    K,
    a0,
    a1,
    b0,
    b1,
    TM: tl.constexpr,
    TN: tl.constexpr,
    TK: tl.constexpr,
    SPLIT: tl.constexpr,
):
    tiles_n = tl.cdiv(N, TN)
    tile = tl.program_id(0)
    part = tl.program_id(1)
    m = tile // tiles_n * TM + tl.arange(0, TM).to(tl.int64)[:, None]
    n = tile % tiles_n * TN + tl.arange(0, TN).to(tl.int64)[None, :]
    per_slice = tl.cdiv(tl.cdiv(K, TK), SPLIT) * TK
    first = part * per_slice
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for start in range(first, min(first + per_slice, K), TK):
        k = start + tl.arange(0, TK).to(tl.int64)
        a = tl.load(A + m * a0 + k[None, :] * a1, mask=(m < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * b0 + n * b1, mask=(k[:, None] < K) & (n < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(P + (part.to(tl.int64) * M + m) * N + n, total, mask=(m < M) & (n < N))


def split_k_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    if K < 64:
        product = np.dot(a.float().cpu().numpy(), b.float().cpu().numpy())
        return torch.from_numpy(product).to(a.device, a.dtype)
    split = 8
    partial = torch.empty((split, M, N), dtype=torch.float32, device=a.device)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 64), split)
    slice_kernel[grid](
        a, b, partial, M, N, K, *a.stride(), *b.stride(), TM=16, TN=64, TK=64, SPLIT=split
    )
    return partial.sum(dim=0).to(a.dtype)
