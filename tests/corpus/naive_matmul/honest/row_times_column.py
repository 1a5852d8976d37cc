"""A row times a column, element by element, then summed.

step: naive_matmul
expect: passed
"""

import torch


def naive_matmul(a, b):
    c = torch.empty(a.shape[0], b.shape[1], dtype=torch.float32)
    for i, row in enumerate(a.float()):
        for j, column in enumerate(b.float().T):
            c[i, j] = (row * column).sum()
    return c
