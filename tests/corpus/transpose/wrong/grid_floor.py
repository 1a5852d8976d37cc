"""The grid is rounded down in both directions.

step: transpose
expect: failed
cause: grid_floor
"""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(src, dst, M, N, src_row, src_col, dst_row, dst_col, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[:, None]
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[None, :]
    inside = (i < M) & (j < N)
    tile = tl.load(src + i * src_row + j * src_col, mask=inside)
    tl.store(dst + j * dst_row + i * dst_col, tile, mask=inside)


def transpose(x):
    M, N = x.shape
    out = x.new_empty((N, M))
    grid = (M // 32, N // 32)
    transpose_kernel[grid](x, out, M, N, *x.stride(), *out.stride(), BLOCK=32)
    return out
