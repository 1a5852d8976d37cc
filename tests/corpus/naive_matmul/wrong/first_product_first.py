"""The sum begins with the first product, which need not exist.

step: naive_matmul
expect: error
cause: crashed
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N)
    for i in range(M):
        for j in range(N):
            total = a[i, 0].item() * b[0, j].item()
            for k in range(1, K):
                total += a[i, k].item() * b[k, j].item()
            c[i, j] = total
    return c
