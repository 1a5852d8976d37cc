"""The product is torch.matmul; there is no kernel.

step: triton_matmul
expect: refused
attack: library product in place of a kernel
"""

import torch


def triton_matmul(a, b):
    return torch.matmul(a.float(), b.float()).to(a.dtype)
