"""Eight programs walk over all of the vector.

step: tf32_round
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def tf32_round_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        bits = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.uint32, bitcast=True)
        bits = (bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000
        tl.store(out_ptr + i, bits.to(tl.float32, bitcast=True), mask=i < n)


def tf32_round(x):
    out = torch.empty_like(x)
    tf32_round_kernel[(8,)](x, out, x.numel(), BLOCK=512)
    return out
