"""einsum writes the product as indices.

step: triton_matmul
expect: refused
attack: library product under another name
"""

import torch


def triton_matmul(a, b):
    return torch.einsum("mk,kn->mn", a.float(), b.float()).to(a.dtype)
