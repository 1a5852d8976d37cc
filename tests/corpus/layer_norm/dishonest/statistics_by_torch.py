"""The library computes mean and variance, the kernel applies them.

step: layer_norm
expect: refused
attack: library reductions before the kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def apply_kernel(x_ptr, mean_ptr, variance_ptr, out_ptr, C, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + cols, mask=cols < C, other=0.0).to(tl.float32)
    y = (x - tl.load(mean_ptr + row)) / tl.sqrt(tl.load(variance_ptr + row) + eps)
    tl.store(out_ptr + row * C + cols, y, mask=cols < C)


def layer_norm(x, eps):
    R, C = x.shape
    x = x.contiguous()
    variance, mean = torch.var_mean(x.float(), dim=1, correction=0)
    out = torch.empty_like(x)
    apply_kernel[(R,)](x, mean, variance, out, C, eps, BLOCK=triton.next_power_of_2(C))
    return out
