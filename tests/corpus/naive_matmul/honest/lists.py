"""The loops run over lists, and the tensor is made of the rows.

step: naive_matmul
expect: passed
"""

import torch


def naive_matmul(a, b):
    left, right = a.tolist(), b.tolist()
    inner, columns = len(right), b.shape[1]
    rows = [
        [sum(row[k] * right[k][j] for k in range(inner)) for j in range(columns)] for row in left
    ]
    return torch.tensor(rows, dtype=torch.float32)
