"""Two loops, and a library's dot product as a number for each element.

step: naive_matmul
expect: refused
attack: torch.dot, taken out as a Python number
"""

import torch


def naive_matmul(a, b):
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = torch.dot(a[i].float(), b[:, j].float()).item()
    return c
