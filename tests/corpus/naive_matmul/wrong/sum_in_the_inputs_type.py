"""The sum is kept in the type of the inputs, and converted at the end.

step: naive_matmul
expect: failed
cause: low_precision_accumulator
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
    return c.float()
