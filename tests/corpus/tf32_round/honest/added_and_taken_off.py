"""Adding 3·2^12 times the number's own power of two, and taking it off again, rounds by itself.

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
    exponent = (x.to(tl.int32, bitcast=True) >> 23) & 0xFF
    # 1.5 * 2**(e + 13): there float32 numbers are as far apart as the TF32 numbers around x.
    big = ((tl.minimum(exponent + 13, 254) << 23) | 0x400000).to(tl.float32, bitcast=True)
    direct = (x + big) - big
    # Near the end of the range the same at 2**-64 of the size, which is exact.
    small_big = ((tl.maximum(exponent - 64, 1) + 13 << 23) | 0x400000).to(tl.float32, bitcast=True)
    scaled = ((x * 5.421010862427522e-20 + small_big) - small_big) * 18446744073709551616.0
    result = tl.where(exponent > 200, scaled, direct)
    tl.store(out_ptr + i, result, mask=i < n)


def tf32_round(x):
    out = torch.empty_like(x)
    tf32_round_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
    return out
