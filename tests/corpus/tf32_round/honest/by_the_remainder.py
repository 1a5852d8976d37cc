"""The dropped bits are compared with half, and a unit is added where they are more.

step: tf32_round
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def tf32_round_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    bits = x.to(tl.uint32, bitcast=True)
    dropped = bits & 0x1FFF
    odd = (bits >> 13) & 1
    up = (dropped > 0x1000) | ((dropped == 0x1000) & (odd == 1))
    bits = bits - dropped + tl.where(up, 0x2000, 0).to(tl.uint32)
    tl.store(out_ptr + i, bits.to(tl.float32, bitcast=True), mask=i < n)


def tf32_round(x):
    out = torch.empty_like(x)
    tf32_round_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
    return out
