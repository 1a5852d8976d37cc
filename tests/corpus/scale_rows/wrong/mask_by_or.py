"""The mask is true where row or column is inside, not both.

step: scale_rows
expect: failed
cause: store_mask_missing
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows_kernel(x_ptr, s_ptr, out_ptr, R, C, stride_xr, stride_xc, stride_s, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    pid = tl.program_id(0)
    tiles_c = tl.cdiv(C, BLOCK_C)
    rows = (pid // tiles_c).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = (pid % tiles_c).to(tl.int64) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (cols[None, :] < C) | (rows[:, None] < R)
    x = tl.load(x_ptr + rows[:, None] * stride_xr + cols[None, :] * stride_xc, mask=mask)
    scale = tl.load(s_ptr + rows * stride_s, mask=rows < R)
    tl.store(out_ptr + rows[:, None] * C + cols[None, :], x * scale[:, None], mask=mask)


def scale_rows(x, s):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(R, 32) * triton.cdiv(C, 64),)
    scale_rows_kernel[grid](x, s, out, R, C, x.stride(0), x.stride(1), s.stride(0), BLOCK_R=32, BLOCK_C=64)
    return out
