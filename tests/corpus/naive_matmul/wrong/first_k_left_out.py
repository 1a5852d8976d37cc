"""The loop over K begins at 1.

step: naive_matmul
expect: failed
cause: k_tail_dropped
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32)
    for i in range(M):
        for j in range(N):
            for k in range(1, K):
                c[i, j] += a[i, k].float() * b[k, j].float()
    return c
