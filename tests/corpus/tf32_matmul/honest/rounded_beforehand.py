"""A kernel rounds both matrices into new ones, and a plain product follows.

step: tf32_matmul
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def to_tf32_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, C, BLOCK):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        x = tl.load(x_ptr + row * stride_r + i * stride_c, mask=i < C, other=0.0)
        bits = x.to(tl.int32, bitcast=True)
        bits = (bits + 0xFFF + ((bits >> 13) & 1)) & -8192
        tl.store(out_ptr + row * C + i, bits.to(tl.float32, bitcast=True), mask=i < C)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        ks = start + tl.arange(0, BLOCK)
        in_a = (rows[:, None] < M) & (ks[None, :] < K)
        in_b = (ks[:, None] < K) & (cols[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=in_a, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=in_b, other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    in_c = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=in_c)


def rounded(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    to_tf32_kernel[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=64)
    return out


def tf32_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=torch.float32, device=a.device)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    matmul_kernel[grid](rounded(a), rounded(b), c, M, N, K, BLOCK=32)
    return c
