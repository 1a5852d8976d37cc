"""The block of C starts again at zero in each block along K.

step: blockwise_matmul
expect: failed
cause: accumulator_overwritten
"""

import torch


def blockwise_matmul(a, b, block_size):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N)
    for i0 in range(0, M, block_size):
        i1 = min(i0 + block_size, M)
        for j0 in range(0, N, block_size):
            j1 = min(j0 + block_size, N)
            for k0 in range(0, K, block_size):
                block = torch.zeros(i1 - i0, j1 - j0)
                for k in range(k0, min(k0 + block_size, K)):
                    block += a[i0:i1, k, None].float() * b[k, None, j0:j1].float()
            c[i0:i1, j0:j1] = block
    return c
