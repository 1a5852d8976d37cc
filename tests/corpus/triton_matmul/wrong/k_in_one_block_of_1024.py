"""All of K in one block of at most 1024.

step: triton_matmul
expect: failed
cause: k_tail_dropped
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    a = tl.load(a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak, mask=(rows < M)[:, None] & (ks < K)[None, :], other=0.0)
    b = tl.load(b_ptr + ks[:, None] * stride_bk + cols[None, :] * stride_bn, mask=(ks < K)[:, None] & (cols < N)[None, :], other=0.0)
    c = tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn, c, mask=(rows < M)[:, None] & (cols < N)[None, :])


def triton_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BLOCK_M=16, BLOCK_N=16, BLOCK_K=1024)
    return c
