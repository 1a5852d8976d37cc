"""The wrapper passes views of the tensors as integers, and the kernel knows no floats.

step: tf32_round
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def round_bits_kernel(bits_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(bits_ptr + i, mask=i < n)
    tl.store(out_ptr + i, (bits + 0xFFF + ((bits >> 13) & 1)) >> 13 << 13, mask=i < n)


def tf32_round(x):
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 256),)
    round_bits_kernel[grid](x.view(torch.int32), out.view(torch.int32), x.numel(), BLOCK=256)
    return out
