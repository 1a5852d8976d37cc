"""The factors are multiplied in the type of the inputs.

step: naive_matmul
expect: failed
cause: low_precision_accumulator
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32)
    for i in range(M):
        for j in range(N):
            for k in range(K):
                c[i, j] += a[i, k] * b[k, j]
    return c
