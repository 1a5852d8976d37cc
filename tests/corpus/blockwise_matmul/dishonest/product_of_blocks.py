"""Three loops over blocks, and the library multiplies the blocks.

step: blockwise_matmul
expect: refused
attack: `@` inside the blocks
"""

import torch


def blockwise_matmul(a, b, block_size):
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(0, a.shape[0], block_size):
        for j in range(0, b.shape[1], block_size):
            for k in range(0, a.shape[1], block_size):
                left = a[i : i + block_size, k : k + block_size].float()
                c[i : i + block_size, j : j + block_size] += (
                    left @ b[k : k + block_size, j : j + block_size].float()
                )
    return c
