"""The scaled values are written back into x and x is returned.

step: scale_rows
expect: failed
cause: input_modified
"""

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
        tl.store(out_ptr + row * row_stride + cols * col_stride, values * factor, mask=keep)


def scale_rows(x, s):
    R, C = x.shape
    scale_row_kernel[(R,)](x, s, x, C, x.stride(0), x.stride(1), s.stride(0), BLOCK=32)
    return x
