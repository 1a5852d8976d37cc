"""A compiled torch function makes the product.

step: triton_matmul
expect: refused
attack: torch.compile in place of a kernel
"""

import torch


@torch.compile(backend="eager")
def product(a, b):
    return (a.float() @ b.float()).to(a.dtype)


def triton_matmul(a, b):
    return product(a, b)
