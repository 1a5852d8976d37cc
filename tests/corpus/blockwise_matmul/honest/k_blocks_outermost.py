"""The blocks along K are the outermost loop.

step: blockwise_matmul
expect: passed
"""

import torch


def blockwise_matmul(a, b, block_size):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N)
    for k0 in range(0, K, block_size):
        for i0 in range(0, M, block_size):
            for j0 in range(0, N, block_size):
                for i in range(i0, min(i0 + block_size, M)):
                    for j in range(j0, min(j0 + block_size, N)):
                        total = 0.0
                        for k in range(k0, min(k0 + block_size, K)):
                            total += float(a[i, k]) * float(b[k, j])
                        c[i, j] += total
    return c
