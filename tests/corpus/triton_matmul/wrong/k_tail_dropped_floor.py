"""The loop makes K // BK steps, so a last short block is left out.

step: triton_matmul
expect: failed
cause: k_tail_dropped
"""

import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 32, 16


@triton.jit
def tile_kernel(
    A,
    B,
    C,
    M,
    N,
    K,
    a_row,
    a_col,
    b_row,
    b_col,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(N, BN)
    tile_m = pid // tiles_n
    tile_n = pid % tiles_n
    m = tile_m * BM + tl.arange(0, BM).to(tl.int64)
    n = tile_n * BN + tl.arange(0, BN).to(tl.int64)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(K // BK):
        k = step * BK + tl.arange(0, BK).to(tl.int64)
        a_mask = (m < M)[:, None] & (k < K)[None, :]
        b_mask = (k < K)[:, None] & (n < N)[None, :]
        a = tl.load(A + m[:, None] * a_row + k[None, :] * a_col, mask=a_mask, other=0.0)
        b = tl.load(B + k[:, None] * b_row + n[None, :] * b_col, mask=b_mask, other=0.0)
        total += tl.dot(a, b)
    c_mask = (m < M)[:, None] & (n < N)[None, :]
    tl.store(C + m[:, None] * N + n[None, :], total.to(C.dtype.element_ty), mask=c_mask)


def triton_matmul(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    tile_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BM=BM, BN=BN, BK=BK)
    return c
