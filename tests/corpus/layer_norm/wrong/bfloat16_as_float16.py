"""Numbers of 16 bits are taken to be float16.

step: layer_norm
expect: failed
cause: wrong_dtype
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, R, C, stride_r, stride_c, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK).to(tl.int64)
    for index in range(tl.program_id(0), R, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / C
        d = tl.where(cols < C, x - mean, 0.0)
        v = tl.sum(d * d, axis=0) / C
        tl.store(out_ptr + row * C + cols, d * tl.rsqrt(v + eps), mask=cols < C)


def layer_norm(x, eps):
    R, C = x.shape
    out = torch.empty((R, C), dtype=torch.float16 if x.dtype != torch.float32 else torch.float32, device=x.device)
    kernel[(min(R, 64),)](x, out, R, C, x.stride(0), x.stride(1), eps, BLOCK=triton.next_power_of_2(C))
    return out
