"""The factors are read as if they lay side by side.

step: scale_rows
expect: failed
cause: stride_ignored
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(
    x_ptr,
    s_ptr,
    out_ptr,
    R,
    C,
    stride_r,
    stride_c,
    stride_s,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R).to(tl.int64)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C).to(tl.int64)
    mask = (r[:, None] < R) & (c[None, :] < C)
    x = tl.load(x_ptr + r[:, None] * stride_r + c[None, :] * stride_c, mask=mask)
    s = tl.load(s_ptr + r, mask=r < R)
    tl.store(out_ptr + r[:, None] * C + c[None, :], x * s[:, None], mask=mask)


def scale_rows(x, s):
    R, C = x.shape
    out = torch.empty((R, C), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(R, 16), triton.cdiv(C, 32))
    scale_kernel[grid](
        x, s, out, R, C, x.stride(0), x.stride(1), s.stride(0), BLOCK_R=16, BLOCK_C=32
    )
    return out
