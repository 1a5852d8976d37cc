"""A is taken to lie row after row.

step: naive_matmul
expect: error
cause: crashed
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    flat = a.view(-1)
    c = torch.zeros(M, N, dtype=torch.float32)
    for i in range(M):
        for j in range(N):
            for k in range(K):
                c[i, j] += a[i, k].float() * b[k, j].float()
    return c
