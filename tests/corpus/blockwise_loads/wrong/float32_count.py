"""The count goes through a float32 tensor, which holds 24 bits.

step: blockwise_loads
expect: failed
cause: wrong_values
"""

import torch


def blockwise_loads(M, N, K, block_size):
    blocks = torch.tensor([M, N], dtype=torch.float32).div(block_size).ceil()
    return int(M * K * blocks[1] + K * N * blocks[0])
