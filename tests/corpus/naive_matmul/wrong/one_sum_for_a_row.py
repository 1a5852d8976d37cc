"""The running sum is set back to zero for each row only.

step: naive_matmul
expect: failed
cause: accumulator_not_zeroed
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N)
    for i in range(M):
        total = 0.0
        for j in range(N):
            for k in range(K):
                total += a[i, k].item() * b[k, j].item()
            c[i, j] = total
    return c
