"""The bias is read as if it were contiguous.

step: linear_gelu
expect: failed
cause: stride_ignored
"""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_gelu_kernel(
    x_ptr, w_ptr, bias_ptr, out_ptr, M, N, K, stride_xm, stride_xk, stride_wn, stride_wk, stride_bias,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid = tl.program_id(0)
    rows = (pid // tiles_n).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (pid % tiles_n).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    k_step = tl.cast(BLOCK_K, tl.int64)
    x_ptrs = x_ptr + rows[:, None] * stride_xm + ks[None, :] * stride_xk
    w_ptrs = w_ptr + ks[:, None] * stride_wk + cols[None, :] * stride_wn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        in_k = ks < K - k
        x = tl.load(x_ptrs, mask=(rows < M)[:, None] & in_k[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=in_k[:, None] & (cols < N)[None, :], other=0.0)
        acc = tl.dot(x, w, acc)
        x_ptrs += k_step * stride_xk
        w_ptrs += k_step * stride_wk
    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0)
    y = acc + bias.to(tl.float32)[None, :]
    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    in_out = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], y.to(out_ptr.dtype.element_ty), mask=in_out)


def linear_gelu(x, w, bias):
    M, K = x.shape
    N = w.shape[0]
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 64) * triton.cdiv(N, 64),)
    strides = (*x.stride(), *w.stride(), *bias.stride())
    linear_gelu_kernel[grid](x, w, bias, out, M, N, K, *strides, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
    return out
