"""The result is laid out as columns by rows.

step: naive_matmul
expect: failed|error
cause: wrong_shape|crashed
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(N, M, dtype=torch.float32)
    for i in range(M):
        for j in range(N):
            for k in range(K):
                c[i, j] += a[i, k].float() * b[k, j].float()
    return c
