"""A row is one block of 1024, whatever its length.

step: scale_rows
expect: failed
cause: output_not_written
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows_kernel(x_ptr, s_ptr, out_ptr, R, C, stride_xr, stride_xc, stride_s, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    mask = cols < C
    x = tl.load(x_ptr + row * stride_xr + cols * stride_xc, mask=mask)
    s = tl.load(s_ptr + row * stride_s)
    tl.store(out_ptr + row * C + cols, x * s, mask=mask)


def scale_rows(x, s):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    scale_rows_kernel[(R,)](x, s, out, R, C, x.stride(0), x.stride(1), s.stride(0), BLOCK=1024)
    return out
