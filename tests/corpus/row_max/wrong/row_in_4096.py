"""A row is one block of 4096, whatever its length.

step: row_max
expect: failed
cause: tail_dropped
told: pointer_not_advanced
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=float("-inf"))
    tl.store(out_ptr + row, tl.max(x, axis=0))


def row_max(x):
    R, C = x.shape
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    row_max_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=4096)
    return out
