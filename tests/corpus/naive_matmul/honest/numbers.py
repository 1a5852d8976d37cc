"""The numbers are taken out and added up in Python.

step: naive_matmul
expect: passed
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N)
    for i in range(M):
        for j in range(N):
            total = 0.0
            for k in range(K):
                total += a[i, k].item() * b[k, j].item()
            c[i, j] = total
    return c
