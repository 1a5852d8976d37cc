"""Broadcast products, summed by torch.

step: triton_matmul
expect: refused
attack: arithmetic of the step done by torch operators
"""


def triton_matmul(a, b):
    products = a.float()[:, :, None] * b.float()[None, :, :]
    return products.sum(dim=1).to(a.dtype)
