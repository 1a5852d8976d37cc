"""The kernel rounds, PyTorch multiplies.

step: tf32_matmul
expect: refused
attack: library product after the kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def to_tf32_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.int32, bitcast=True)
    bits = (bits + 0xFFF + ((bits >> 13) & 1)) & -8192
    tl.store(out_ptr + i, bits.to(tl.float32, bitcast=True), mask=i < n)


def rounded(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    to_tf32_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
    return out


def tf32_matmul(a, b):
    return rounded(a) @ rounded(b)
