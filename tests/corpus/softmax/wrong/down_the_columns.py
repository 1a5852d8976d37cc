"""The softmax is taken down the columns.

step: softmax
expect: failed
cause: tile_dimensions_confused
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    x_ptr, out_ptr, R, C, stride_r, stride_c, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.arange(0, BLOCK_C).to(tl.int64)
    mask = (rows[:, None] < R) & (cols[None, :] < C)
    offsets = rows[:, None] * stride_c + cols[None, :] * stride_r
    x = tl.load(x_ptr + offsets, mask=mask, other=float("-inf")).to(tl.float32)
    top = tl.max(x, axis=1)
    top = tl.where(rows < R, top, 0.0)
    e = tl.exp(x - top[:, None])
    total = tl.sum(e, axis=1)
    tl.store(out_ptr + cols[None, :] * R + rows[:, None], e / total[:, None], mask=mask)


def softmax(x):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    BLOCK_C = triton.next_power_of_2(R)
    R, C = C, R
    grid = (triton.cdiv(R, 256),)
    softmax_kernel[grid](x, out, R, C, x.stride(0), x.stride(1), BLOCK_R=256, BLOCK_C=BLOCK_C)
    return out
