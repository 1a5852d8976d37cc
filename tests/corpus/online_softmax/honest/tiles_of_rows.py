"""A program takes four rows at once, in blocks of 1024 columns.

step: online_softmax
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def online_kernel(
    x_ptr, out_ptr, R, C, stride_r, stride_c, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    low = float("-inf")
    m = tl.full((BLOCK_R,), low, tl.float32)
    total = tl.zeros((BLOCK_R,), tl.float32)
    for start in range(0, C, BLOCK_C):
        cols = start + tl.arange(0, BLOCK_C).to(tl.int64)
        mask = (rows[:, None] < R) & (cols[None, :] < C)
        offsets = rows[:, None] * stride_r + cols[None, :] * stride_c
        x = tl.load(x_ptr + offsets, mask=mask, other=low).to(tl.float32)
        new_m = tl.maximum(m, tl.max(x, axis=1))
        base = tl.where(new_m == low, 0.0, new_m)
        total = total * tl.exp(m - base) + tl.sum(tl.exp(x - base[:, None]), axis=1)
        m = new_m
    for start in range(0, C, BLOCK_C):
        cols = start + tl.arange(0, BLOCK_C).to(tl.int64)
        mask = (rows[:, None] < R) & (cols[None, :] < C)
        offsets = rows[:, None] * stride_r + cols[None, :] * stride_c
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        y = tl.exp(x - m[:, None]) / total[:, None]
        tl.store(out_ptr + rows[:, None] * C + cols[None, :], y, mask=mask)


def online_softmax(x):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(R, 4),)
    online_kernel[grid](x, out, R, C, x.stride(0), x.stride(1), BLOCK_R=4, BLOCK_C=1024)
    return out
