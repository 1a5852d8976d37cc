"""An operator of the submission's own, in which PyTorch adds.

step: vector_add
expect: refused
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@torch.library.custom_op("course::add", mutates_args=())
def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def vector_add(x, y):
    total, out = add(x, y), torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](total, out, x.numel(), BLOCK=256)
    return out
