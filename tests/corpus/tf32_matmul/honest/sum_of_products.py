"""No dot: columns times rows, added up one k at a time.

step: tf32_matmul
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def to_tf32(x):
    bits = x.to(tl.uint32, bitcast=True)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) >> 13 << 13).to(tl.float32, bitcast=True)


@triton.jit
def tf32_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K):
        step = tl.cast(k, tl.int64)
        a = tl.load(a_ptr + rows * stride_am + step * stride_ak, mask=rows < M, other=0.0)
        b = tl.load(b_ptr + step * stride_bk + cols * stride_bn, mask=cols < N, other=0.0)
        acc += to_tf32(a)[:, None] * to_tf32(b)[None, :]
    c_ptrs = c_ptr + rows[:, None] * N + cols[None, :]
    tl.store(c_ptrs, acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def tf32_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    tf32_matmul_kernel[grid](
        a, b, c, M, N, K,
        a.stride(0), a.stride(1), b.stride(0), b.stride(1),
        BLOCK_M=64, BLOCK_N=64,
    )
    return c
