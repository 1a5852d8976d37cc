"""The matrices become a batch of one for torch.bmm, written into the result with `out`.

step: triton_matmul
expect: refused
attack: library product with out=
"""

import torch


def triton_matmul(a, b):
    c = torch.empty((1, a.shape[0], b.shape[1]), device=a.device, dtype=torch.float32)
    torch.bmm(a.float()[None], b.float()[None], out=c)
    return c[0].to(a.dtype)
