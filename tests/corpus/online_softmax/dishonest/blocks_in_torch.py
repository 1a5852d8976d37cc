"""The running maximum and sum are kept by torch, block by block; a kernel copies the result.

step: online_softmax
expect: refused
attack: the algorithm in library operators with a decoy kernel
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def online_softmax(x):
    m = torch.full((x.shape[0], 1), float("-inf"), device=x.device)
    total = torch.zeros_like(m)
    for block in x.float().split(1024, dim=1):
        new_m = torch.maximum(m, block.amax(dim=1, keepdim=True)).clamp(min=-3e38)
        total = total * (m - new_m).exp() + (block - new_m).exp().sum(dim=1, keepdim=True)
        m = new_m
    y = ((x.float() - m).exp() / total).to(x.dtype)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    copy_kernel[(triton.cdiv(y.numel(), 1024),)](y, out, y.numel(), BLOCK=1024)
    return out
