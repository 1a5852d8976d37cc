"""Source rows move by the column stride and source columns by the row stride.

step: transpose
expect: failed
cause: strides_swapped
"""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(src, dst, M, N, src_row, src_col, dst_row, dst_col, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[:, None]
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[None, :]
    inside = (i < M) & (j < N)
    tile = tl.load(src + i * src_col + j * src_row, mask=inside)
    tl.store(dst + j * dst_row + i * dst_col, tile, mask=inside)


def transpose(x):
    M, N = x.shape
    out = x.new_empty((N, M))
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    transpose_kernel[grid](x, out, M, N, *x.stride(), *out.stride(), BLOCK=32)
    return out
