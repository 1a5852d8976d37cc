"""The running sum is never set back to zero.

step: naive_matmul
expect: failed
cause: accumulator_not_zeroed
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N)
    total = 0.0
    for i in range(M):
        for j in range(N):
            for k in range(K):
                total += a[i, k].item() * b[k, j].item()
            c[i, j] = total
    return c
