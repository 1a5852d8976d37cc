"""einsum does it, beside loops that do nothing.

step: naive_matmul
expect: refused
attack: torch.einsum
"""

import torch


def naive_matmul(a, b):
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[0]):
        c[i] += 0.0
    return c + torch.einsum("ik,kj->ij", a.float(), b.float())
