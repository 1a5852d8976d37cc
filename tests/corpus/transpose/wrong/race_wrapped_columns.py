"""Columns past the end wrap around and are stored over the first ones without a mask, from the wrong rows.

step: transpose
expect: failed
cause: race | masked_other_wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, stride_m, stride_n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * stride_m + cols[None, :] * stride_n, mask=mask)
    wrapped = cols % N
    tl.store(out_ptr + wrapped[None, :] * M + rows[:, None], x, mask=rows[:, None] < M)


def transpose(x):
    M, N = x.shape
    out = torch.empty((N, M), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    transpose_kernel[grid](x, out, M, N, x.stride(0), x.stride(1), BLOCK=32)
    return out
