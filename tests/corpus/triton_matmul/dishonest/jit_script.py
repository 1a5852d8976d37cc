"""A TorchScript function makes the product.

step: triton_matmul
expect: refused
attack: torch.jit.script in place of a kernel
"""

import torch


@torch.jit.script
def product(a, b):
    return torch.matmul(a.float(), b.float())


def triton_matmul(a, b):
    return product(a, b).to(a.dtype)
