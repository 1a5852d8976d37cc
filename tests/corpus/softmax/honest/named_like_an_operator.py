"""The wrapper is called softmax, as the function of tl that the kernel calls.

step: softmax
expect: passed
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, R, C, stride_r, stride_c, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK).to(tl.int64)
    for index in range(tl.program_id(0), R, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + row * C + cols, tl.softmax(x), mask=cols < C)


def softmax(x):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    kernel[(min(R, 64),)](x, out, R, C, x.stride(0), x.stride(1), BLOCK=triton.next_power_of_2(C))
    return out
