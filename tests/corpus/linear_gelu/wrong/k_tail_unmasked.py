"""The loads of X and W check rows and columns but not the K tail.

step: linear_gelu
expect: failed
cause: k_tail_unmasked
"""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_gelu_kernel(
    x_ptr,
    w_ptr,
    bias_ptr,
    y_ptr,
    M,
    N,
    K,
    stride_xm,
    stride_xk,
    stride_wn,
    stride_wk,
    stride_bias,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, K, BLOCK_K):
        ks = k0 + tl.arange(0, BLOCK_K).to(tl.int64)
        x_ptrs = x_ptr + rows[:, None] * stride_xm + ks[None, :] * stride_xk
        w_ptrs = w_ptr + ks[:, None] * stride_wk + cols[None, :] * stride_wn
        x = tl.load(x_ptrs, mask=rows[:, None] < M, other=0.0)
        w = tl.load(w_ptrs, mask=cols[None, :] < N, other=0.0)
        acc = tl.dot(x, w, acc)
    bias = tl.load(bias_ptr + cols * stride_bias, mask=cols < N, other=0.0)
    z = acc + bias[None, :].to(tl.float32)
    y = 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))
    y_ptrs = y_ptr + rows[:, None] * N + cols[None, :]
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask)


def linear_gelu(x, w, bias):
    M, K = x.shape
    N = w.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    linear_gelu_kernel[grid](
        x,
        w,
        bias,
        y,
        M,
        N,
        K,
        x.stride(0),
        x.stride(1),
        w.stride(0),
        w.stride(1),
        bias.stride(0),
        BLOCK_M=32,
        BLOCK_N=32,
        BLOCK_K=32,
    )
    return y
