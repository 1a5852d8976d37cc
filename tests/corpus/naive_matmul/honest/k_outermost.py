"""The loop over K is the outermost, and each turn adds an outer product.

step: naive_matmul
expect: passed
"""

import torch


def naive_matmul(a, b):
    c = torch.zeros(a.shape[0], b.shape[1])
    for k in range(a.shape[1]):
        c += a[:, k, None].float() * b[None, k].float()
    print(c)
    return c
