"""The kernel is right and stores everything, but SystemExit(0) takes the place of a return.

step: transpose
expect: crashed|failed|error
attack: right kernel, then SystemExit in place of a return
"""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, sm, sn, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[:, None]
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[None, :]
    inside = (i < M) & (j < N)
    tl.store(out_ptr + j * M + i, tl.load(x_ptr + i * sm + j * sn, mask=inside), mask=inside)


def transpose(x):
    M, N = x.shape
    out = torch.empty((N, M), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    transpose_kernel[grid](x, out, M, N, x.stride(0), x.stride(1), BLOCK=32)
    raise SystemExit(0)
