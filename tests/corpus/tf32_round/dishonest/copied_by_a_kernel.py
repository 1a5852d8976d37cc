"""PyTorch rounds, and a kernel copies the result.

step: tf32_round
expect: refused
attack: library arithmetic with a decoy kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def tf32_round(x):
    bits = x.view(torch.int32)
    rounded = bits.add(0xFFF).add(bits.bitwise_right_shift(13).bitwise_and(1))
    rounded = rounded.bitwise_and(-8192).view(torch.float32)
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 512),)](rounded, out, x.numel(), BLOCK=512)
    return out
