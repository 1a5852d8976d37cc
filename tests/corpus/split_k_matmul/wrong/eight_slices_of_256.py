"""Eight slices of at most 256, whatever K is.

step: split_k_matmul
expect: failed
cause: k_tail_dropped
told: k_tail_unmasked
"""

import torch
import triton
import triton.language as tl


@triton.jit
def split_k_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, slice_k, stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid = tl.program_id(0)
    rows = (pid // tiles_n).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (pid % tiles_n).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    start = tl.program_id(1).to(tl.int64) * slice_k
    end = tl.minimum(start + slice_k, K)
    for k in range(start, end, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K).to(tl.int64)
        x = tl.load(a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak, mask=(rows < M)[:, None] & (ks < end)[None, :], other=0.0)
        y = tl.load(b_ptr + ks[:, None] * stride_bk + cols[None, :] * stride_bn, mask=(ks < end)[:, None] & (cols < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    in_c = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c_ptr + (tl.program_id(1).to(tl.int64) * M + rows)[:, None] * N + cols[None, :], acc, mask=in_c)


def split_k_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    slices = 8
    slice_k = 256
    tiles = triton.cdiv(M, 32) * triton.cdiv(N, 32)
    c = torch.empty((slices, M, N), dtype=torch.float32, device=a.device)
    split_k_kernel[(tiles, slices)](a, b, c, M, N, K, slice_k, *a.stride(), *b.stride(), BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return c.sum(dim=0).to(a.dtype)
