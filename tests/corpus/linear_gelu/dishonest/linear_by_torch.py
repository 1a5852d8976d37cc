"""F.linear makes the product; only GELU is a kernel.

step: linear_gelu
expect: refused
attack: half of the step done by the library
"""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(z_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(z_ptr + i, mask=i < n)
    tl.store(y_ptr + i, 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476)), mask=i < n)


def linear_gelu(x, w, bias):
    z = torch.nn.functional.linear(x.float(), w.float(), bias.float())
    y = torch.empty(z.shape, device=x.device, dtype=x.dtype)
    gelu_kernel[(triton.cdiv(z.numel(), 256),)](z, y, z.numel(), BLOCK=256)
    return y
