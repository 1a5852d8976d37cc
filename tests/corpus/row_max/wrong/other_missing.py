"""The load is masked and says nothing of what a masked lane is.

step: row_max
expect: failed
cause: masked_other_wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C)
    tl.store(out_ptr + row, tl.max(x, axis=0))


def row_max(x):
    R, C = x.shape
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(C)
    row_max_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return out
