"""The weight is passed as a transposed view and the bias starts the accumulator.

step: linear_gelu
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def fused_kernel(
    x_ptr,
    wt_ptr,
    bias_ptr,
    y_ptr,
    M,
    N,
    K,
    xm,
    xk,
    wk,
    wn,
    ym,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    pid = tl.program_id(0)
    rows = (pid // tl.cdiv(N, BN)) * BM + tl.arange(0, BM).to(tl.int64)
    cols = (pid % tl.cdiv(N, BN)) * BN + tl.arange(0, BN).to(tl.int64)
    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    acc = tl.zeros((BM, BN), dtype=tl.float32) + bias[None, :]
    for k0 in range(0, K, BK):
        ks = k0 + tl.arange(0, BK).to(tl.int64)
        x_mask = (rows < M)[:, None] & (ks < K)[None, :]
        w_mask = (ks < K)[:, None] & (cols < N)[None, :]
        x = tl.load(x_ptr + rows[:, None] * xm + ks[None, :] * xk, mask=x_mask, other=0.0)
        w = tl.load(wt_ptr + ks[:, None] * wk + cols[None, :] * wn, mask=w_mask, other=0.0)
        acc = tl.dot(x, w, acc)
    gelu = acc * 0.5 * (1.0 + tl.math.erf(acc / 1.4142135623730951))
    out_mask = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(y_ptr + rows[:, None] * ym + cols[None, :], gelu, mask=out_mask)


def linear_gelu(x, w, bias):
    wt = w.t()
    (M, K), N = x.shape, wt.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 64),)
    fused_kernel[grid](
        x,
        wt,
        bias.contiguous(),
        y,
        M,
        N,
        K,
        *x.stride(),
        *wt.stride(),
        y.stride(0),
        BM=16,
        BN=64,
        BK=32,
    )
    return y
