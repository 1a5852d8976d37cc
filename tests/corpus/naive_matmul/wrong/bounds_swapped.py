"""The loops over rows and columns have each other's bound.

step: naive_matmul
expect: error
cause: crashed
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32)
    for i in range(N):
        for j in range(M):
            for k in range(K):
                c[i, j] += a[i, k].float() * b[k, j].float()
    return c
