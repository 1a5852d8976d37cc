"""Both inputs are copied to contiguous tensors first, so rows are K and N elements apart.

step: triton_matmul
expect: passed
"""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        a_k = k + tl.arange(0, BLOCK)[None, :]
        b_k = k + tl.arange(0, BLOCK)[:, None]
        a = tl.load(a_ptr + rows * K + a_k, mask=(rows < M) & (a_k < K), other=0)
        b = tl.load(b_ptr + b_k * N + cols, mask=(b_k < K) & (cols < N), other=0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows * N + cols, acc, mask=(rows < M) & (cols < N))


def triton_matmul(a, b):
    a = a.contiguous()
    b = b.contiguous().clone()
    (M, K), N = a.shape, b.shape[1]
    c = a.new_empty(M, N)
    matmul_kernel[triton.cdiv(M, 32), triton.cdiv(N, 32)](a, b, c, M, N, K, BLOCK=32)
    return c
