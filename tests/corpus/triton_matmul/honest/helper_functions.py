"""Offsets, loading and one step are helpers, themselves marked with triton.jit.

step: triton_matmul
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def tile_range(pid, SIZE: tl.constexpr):
    return pid * SIZE + tl.arange(0, SIZE).to(tl.int64)


@triton.jit
def load_2d(ptr, rows, cols, n_rows, n_cols, stride_r, stride_c):
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    return tl.load(ptr + rows[:, None] * stride_r + cols[None, :] * stride_c, mask=mask, other=0.0)


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tile_range(tl.program_id(0), BLOCK_M)
    cols = tile_range(tl.program_id(1), BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(K, BLOCK_K), num_stages=2):
        ks = tile_range(step, BLOCK_K)
        a = load_2d(a_ptr, rows, ks, M, K, stride_am, stride_ak)
        b = load_2d(b_ptr, ks, cols, K, N, stride_bk, stride_bn)
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def triton_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
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
        c.stride(0),
        c.stride(1),
        BLOCK_M=32,
        BLOCK_N=32,
        BLOCK_K=32,
    )
    return c
