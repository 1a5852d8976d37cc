"""Each block of rows goes one row too far, and that row is counted twice.

step: blockwise_matmul
expect: failed
cause: wrong_values
"""

import torch


def blockwise_matmul(a, b, block_size):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32)
    for i0 in range(0, M, block_size):
        for j0 in range(0, N, block_size):
            for k0 in range(0, K, block_size):
                for i in range(i0, min(i0 + block_size + 1, M)):
                    for j in range(j0, min(j0 + block_size, N)):
                        for k in range(k0, min(k0 + block_size, K)):
                            c[i, j] += a[i, k].float() * b[k, j].float()
    return c
