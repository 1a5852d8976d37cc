"""The library's einsum, copied by a kernel.

step: attention_delta
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


def attention_delta(out, dout):
    exact = torch.einsum("bhnd,bhnd->bhn", out.float(), dout.float()).contiguous()
    copied = torch.empty_like(exact)
    copy_kernel[(triton.cdiv(exact.numel(), 256),)](exact, copied, exact.numel(), BLOCK=256)
    return copied
