"""Only whole blocks are computed, in all three dimensions.

step: blockwise_matmul
expect: failed
cause: tail_dropped
"""

import torch


def blockwise_matmul(a, b, block_size):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N)
    for m in range(M // block_size):
        for n in range(N // block_size):
            for p in range(K // block_size):
                for i in range(m * block_size, (m + 1) * block_size):
                    for j in range(n * block_size, (n + 1) * block_size):
                        for k in range(p * block_size, (p + 1) * block_size):
                            c[i, j] += a[i, k].float() * b[k, j].float()
    return c
