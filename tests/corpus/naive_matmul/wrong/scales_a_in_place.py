"""The rows of A are multiplied in place.

step: naive_matmul
expect: failed
cause: input_modified
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    c = torch.zeros(M, b.shape[1])
    for i in range(M):
        for j in range(b.shape[1]):
            row = a[i]
            row *= b[:, j]
            for k in range(K):
                c[i, j] += row[k]
    return c
