"""A helper of the wrapper is called zeros, as a function of tl that the kernel calls.

step: triton_matmul
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a, b, c, M, N, K, sa0, sa1, sb0, sb1, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    j = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK).to(tl.int64)
        x = tl.load(a + i[:, None] * sa0 + k[None, :] * sa1, mask=(i < M)[:, None] & (k < K)[None, :], other=0.0)
        y = tl.load(b + k[:, None] * sb0 + j[None, :] * sb1, mask=(k < K)[:, None] & (j < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * N + j[None, :], acc, mask=(i < M)[:, None] & (j < N)[None, :])


def zeros(rows, columns, like):
    return torch.zeros((rows, columns), dtype=like.dtype, device=like.device)


def triton_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = zeros(M, N, a)
    matmul_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 64))](a, b, c, M, N, K, *a.stride(), *b.stride(), BM=64, BN=64, BK=32)
    return c
