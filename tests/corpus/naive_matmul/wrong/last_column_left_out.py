"""The loop over the columns ends one step early.

step: naive_matmul
expect: failed
cause: tail_dropped
"""

import torch


def naive_matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32)
    for i in range(M):
        for j in range(N - 1):
            for k in range(K):
                c[i, j] += a[i, k].float() * b[k, j].float()
    return c
