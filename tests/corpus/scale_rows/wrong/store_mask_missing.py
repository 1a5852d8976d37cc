"""The store has no mask, so a row's last block writes into the next row and past the end.

step: scale_rows
expect: failed
cause: store_mask_missing
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_row_kernel(
    x_ptr, s_ptr, out_ptr, C, row_stride, col_stride, s_stride, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    factor = tl.load(s_ptr + row * s_stride)
    for start in range(0, C, BLOCK):
        cols = start + tl.arange(0, BLOCK).to(tl.int64)
        keep = cols < C
        values = tl.load(x_ptr + row * row_stride + cols * col_stride, mask=keep)
        tl.store(out_ptr + row * C + cols, values * factor)


def scale_rows(x, s):
    R, C = x.shape
    out = torch.empty((R, C), device=x.device, dtype=x.dtype)
    scale_row_kernel[(R,)](x, s, out, C, x.stride(0), x.stride(1), s.stride(0), BLOCK=32)
    return out
