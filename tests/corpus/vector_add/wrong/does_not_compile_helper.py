"""The kernel calls a helper that lacks `@triton.jit`.

step: vector_add
expect: failed
cause: does_not_compile
"""

import torch
import triton
import triton.language as tl


def lanes(pid, size):
    return pid * size + tl.arange(0, size).to(tl.int64)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = lanes(pid, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    n = x.numel()
    out = torch.empty(n, device=x.device, dtype=x.dtype)
    if n > 0:
        grid = (triton.cdiv(n, 64),)
        add_kernel[grid](x, y, out, n, x.stride(0), y.stride(0), BLOCK=64)
    return out
