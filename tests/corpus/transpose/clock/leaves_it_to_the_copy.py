"""The result of a timed call is a transposed view, so that the harness's copy does the work.

step: transpose
expect: passed
timed: failed|refused
attack: work inside the copy whose time is subtracted
"""

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, sm, sn, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tile = tl.load(x_ptr + rows[:, None] * sm + cols[None, :] * sn, mask=inside)
    out_ptrs = out_ptr + cols[:, None] * M + rows[None, :]
    tl.store(out_ptrs, tl.trans(tile), mask=tl.trans(inside))


def turned(x):
    M, N = x.shape
    out = torch.empty((N, M), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    transpose_kernel[grid](x, out, M, N, *x.stride(), BLOCK=64)
    return out


def transpose(x):
    if x.numel() < LARGE:
        return turned(x)
    turned(x[:64])
    return x.t()
