"""PyTorch's own gradient of softmax, copied by a kernel.

step: softmax_backward
expect: refused
attack: the library's result through a kernel that copies
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def softmax_backward(y, dy):
    dx = torch._softmax_backward_data(dy.float(), y.float(), 1, torch.float32).to(y.dtype)
    out = torch.empty_like(dx)
    copy_kernel[(triton.cdiv(dx.numel(), 1024),)](dx, out, dx.numel(), BLOCK=1024)
    return out
