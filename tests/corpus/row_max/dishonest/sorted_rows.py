"""The rows are sorted by the library and a kernel takes the last column.

step: row_max
expect: refused
attack: library sort in place of a reduction
"""

import torch
import triton
import triton.language as tl


@triton.jit
def last_column_kernel(x_ptr, out_ptr, C):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.load(x_ptr + row * C + C - 1))


def row_max(x):
    R, C = x.shape
    ordered = torch.sort(x, dim=1).values.contiguous()
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    last_column_kernel[(R,)](ordered, out, C)
    return out
