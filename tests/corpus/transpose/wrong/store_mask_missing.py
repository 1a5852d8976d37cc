"""The store has no mask.

step: transpose
expect: failed
cause: store_mask_missing
"""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    x_ptr, out_ptr, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tile = tl.load(x_ptr + rows[:, None] * stride_m + cols[None, :] * stride_n, mask=mask)
    out_ptrs = out_ptr + cols[:, None] * M + rows[None, :]
    tl.store(out_ptrs, tl.trans(tile))


def transpose(x):
    M, N = x.shape
    out = torch.empty((N, M), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 16))
    transpose_kernel[grid](x, out, M, N, x.stride(0), x.stride(1), BLOCK_M=32, BLOCK_N=16)
    return out
