"""Two programs walk over the whole vector in turns.

step: vector_add
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, sx, sy, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        x = tl.load(x_ptr + i * sx, mask=i < n, other=0.0)
        y = tl.load(y_ptr + i * sy, mask=i < n, other=0.0)
        tl.store(out_ptr + i, (x + y).to(x.dtype), mask=i < n)


def vector_add(x, y):
    assert x.shape == y.shape and x.dtype == y.dtype
    out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    add_kernel[(2,)](x, y, out, x.numel(), x.stride(0), y.stride(0), BLOCK=128)
    return out
