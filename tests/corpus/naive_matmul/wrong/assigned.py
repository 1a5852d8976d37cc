"""Each product is assigned to the element, not added to it.

step: naive_matmul
expect: failed
cause: accumulator_overwritten
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32)
    for i in range(M):
        for j in range(N):
            for k in range(K):
                c[i, j] = a[i, k].float() * b[k, j].float()
    return c
