"""The kernel adds whole blocks; torch adds what is left.

step: vector_add
expect: refused
attack: library addition for the ragged end
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) + tl.load(y_ptr + i))


def vector_add(x, y):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    whole = x.numel() // 64
    if whole:
        add_kernel[(whole,)](x, y, out, BLOCK=64)
    torch.add(x[whole * 64 :], y[whole * 64 :], out=out[whole * 64 :])
    return out
