"""The tile of A is bounded by M in both directions, so its K tail is bounded by the wrong size.

step: triton_matmul
expect: failed
cause: tile_dimensions_confused|k_tail_unmasked|k_tail_dropped
"""

import torch
import triton
import triton.language as tl


@triton.jit
def load_tile(base, r, c, stride_r, stride_c, rows, cols):
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    return tl.load(base + r[:, None] * stride_r + c[None, :] * stride_c, mask=mask, other=0.0)


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    am,
    ak,
    bk,
    bn,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M).to(tl.int64)
    offs_n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N).to(tl.int64)
    acc = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    k0 = 0
    while k0 < K:
        offs_k = k0 + tl.arange(0, TILE_K).to(tl.int64)
        a = load_tile(a_ptr, offs_m, offs_k, am, ak, M, M)
        b = load_tile(b_ptr, offs_k, offs_n, bk, bn, K, N)
        acc += tl.dot(a, b)
        k0 += TILE_K
    keep = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=keep)


def triton_matmul(a, b):
    M, K = a.shape
    N = b.size(1)
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)

    def grid(meta):
        return triton.cdiv(M, meta["TILE_M"]), triton.cdiv(N, meta["TILE_N"])

    matmul_kernel[grid](
        a,
        b,
        c,
        M,
        N,
        K,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        TILE_M=32,
        TILE_N=64,
        TILE_K=32,
    )
    return c
