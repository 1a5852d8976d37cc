"""Columns are taken to be neighbours in memory.

step: row_max
expect: failed
cause: stride_ignored
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, C, BLOCK):
        offsets = start + cols
        x = tl.load(x_ptr + row * stride_r + offsets, mask=cols < C - start, other=float("-inf"))
        best = tl.maximum(best, x.to(tl.float32))
    tl.store(out_ptr + row, tl.max(best, axis=0))


def row_max(x):
    R, C = x.shape
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    row_max_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=256)
    return out
