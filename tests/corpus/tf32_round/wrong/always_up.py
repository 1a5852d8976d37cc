"""A whole unit is added before the cut.

step: tf32_round
expect: failed
cause: rounding_wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def tf32_round_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    bits = x.to(tl.uint32, bitcast=True)
    bits = (bits + 0x2000) >> 13 << 13
    tl.store(out_ptr + i, bits.to(tl.float32, bitcast=True), mask=i < n)


def tf32_round(x):
    out = torch.empty_like(x)
    tf32_round_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
    return out
