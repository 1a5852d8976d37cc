"""The number of tiles of rows is rounded down.

step: row_max
expect: failed
cause: grid_floor
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(
    x_ptr, out_ptr, R, C, stride_r, stride_c, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.arange(0, BLOCK_C).to(tl.int64)
    mask = (rows[:, None] < R) & (cols[None, :] < C)
    offsets = rows[:, None] * stride_r + cols[None, :] * stride_c
    x = tl.load(x_ptr + offsets, mask=mask, other=float("-inf"))
    tl.store(out_ptr + rows, tl.max(x, axis=1), mask=rows < R)


def row_max(x):
    R, C = x.shape
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    BLOCK_C = triton.next_power_of_2(C)
    grid = (R // 8,)
    row_max_kernel[grid](x, out, R, C, x.stride(0), x.stride(1), BLOCK_R=8, BLOCK_C=BLOCK_C)
    return out
