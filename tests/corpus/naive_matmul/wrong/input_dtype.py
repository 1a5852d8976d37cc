"""The result has the type of the inputs.

step: naive_matmul
expect: failed
cause: wrong_dtype
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=a.dtype)
    for i in range(M):
        for j in range(N):
            for k in range(K):
                c[i, j] += a[i, k].float() * b[k, j].float()
    return c
