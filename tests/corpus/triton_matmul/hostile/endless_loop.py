"""The loop over K never ends: its counter stands still.

step: triton_matmul
expect: timed_out
attack: endless loop in the kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    k0 = 0
    while k0 < K:
        k = k0 + tl.arange(0, BLOCK)
        a_mask = (rows < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (cols < N)
        a = tl.load(a_ptr + rows * am + k[None, :] * ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + cols * bn, mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows * N + cols, acc, mask=(rows < M) & (cols < N))


def triton_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BLOCK=32)
    return c
