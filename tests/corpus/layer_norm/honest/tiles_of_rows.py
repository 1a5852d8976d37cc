"""A program takes four rows at once.

step: layer_norm
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, out_ptr, R, C, stride_r, stride_c, eps,
                      ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    mask = (rows[:, None] < R) & (cols[None, :] < C)
    ptrs = x_ptr + rows[:, None] * stride_r + cols[None, :] * stride_c
    x = tl.load(ptrs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / C
    distance = tl.where(mask, x - mean[:, None], 0.0)
    variance = tl.sum(distance * distance, axis=1) / C
    y = distance / tl.sqrt(variance + eps)[:, None]
    tl.store(out_ptr + rows[:, None] * C + cols[None, :], y, mask=mask)


def layer_norm(x, eps):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(C)
    layer_norm_kernel[(triton.cdiv(R, 4),)](x, out, R, C, *x.stride(), eps, ROWS=4, BLOCK=BLOCK)
    return out
