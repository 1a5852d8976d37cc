"""A column is one block of 1024, whatever its length.

step: transpose
expect: failed
cause: output_not_written
"""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, stride_xm, stride_xn, BLOCK: tl.constexpr):
    col = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK).to(tl.int64)
    column = tl.load(x_ptr + rows * stride_xm + col * stride_xn, mask=rows < M)
    tl.store(out_ptr + col * M + rows, column, mask=rows < M)


def transpose(x):
    M, N = x.shape
    out = torch.empty((N, M), dtype=x.dtype, device=x.device)
    transpose_kernel[(N,)](x, out, M, N, x.stride(0), x.stride(1), BLOCK=1024)
    return out
