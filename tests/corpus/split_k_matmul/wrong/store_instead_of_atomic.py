"""Every slice stores its sum, and the last one stays.

step: split_k_matmul
expect: failed
cause: race
"""

import torch
import triton
import triton.language as tl


@triton.jit
def split_k_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    slice_k,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    k_start = tl.program_id(2) * slice_k
    k_end = min(k_start + slice_k, K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(k_start, k_end, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K).to(tl.int64)
        a_ptrs = a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak
        b_ptrs = b_ptr + ks[:, None] * stride_bk + cols[None, :] * stride_bn
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (ks[None, :] < k_end), other=0.0)
        b = tl.load(b_ptrs, mask=(ks[:, None] < k_end) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + rows[:, None] * N + cols[None, :]
    tl.store(c_ptrs, acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def split_k_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    slices = 4
    slice_k = triton.cdiv(K, slices)
    c = torch.zeros((M, N), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), slices)
    split_k_kernel[grid](
        a, b, c, M, N, K, slice_k, *a.stride(), *b.stride(), BLOCK_M=32, BLOCK_N=32, BLOCK_K=32
    )
    return c.to(a.dtype)
