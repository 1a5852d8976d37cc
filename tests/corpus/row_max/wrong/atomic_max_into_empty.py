"""Programs take the maximum with memory that nobody has set.

step: row_max
expect: failed
cause: accumulator_not_zeroed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=float("-inf"))
    tl.atomic_max(out_ptr + row, tl.max(x.to(tl.float32), axis=0))


def row_max(x):
    R, C = x.shape
    best = torch.empty((R,), dtype=torch.float32, device=x.device)
    row_max_kernel[(R, triton.cdiv(C, 256))](x, best, C, x.stride(0), x.stride(1), BLOCK=256)
    return best.to(x.dtype)
