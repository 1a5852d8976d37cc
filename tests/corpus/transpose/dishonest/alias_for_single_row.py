"""A single row or column comes back as a view of x; everything else goes through the kernel.

step: transpose
expect: refused|failed
attack: the input's own memory as the result of a trivial case
"""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, stride_m, stride_n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[:, None]
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[None, :]
    inside = (i < M) & (j < N)
    tile = tl.load(x_ptr + i * stride_m + j * stride_n, mask=inside)
    tl.store(out_ptr + j * M + i, tile, mask=inside)


def transpose(x):
    M, N = x.shape
    if x.is_contiguous() and 1 in (M, N):
        return x.view(N, M)
    out = torch.empty((N, M), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    transpose_kernel[grid](x, out, M, N, x.stride(0), x.stride(1), BLOCK=32)
    return out
