"""A kernel copies what the library computed.

step: softmax
expect: refused
attack: library softmax with a decoy kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def softmax(x):
    y = torch.nn.functional.softmax(x, dim=-1)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    copy_kernel[(triton.cdiv(y.numel(), 1024),)](y.contiguous(), out, y.numel(), BLOCK=1024)
    return out
