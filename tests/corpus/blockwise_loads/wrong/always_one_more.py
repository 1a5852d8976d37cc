"""Rounding up by adding a block, also where nothing is left over.

step: blockwise_loads
expect: failed
cause: wrong_values
"""


def blockwise_loads(M, N, K, block_size):
    blocks_m = M // block_size + 1
    blocks_n = N // block_size + 1
    return M * K * blocks_n + K * N * blocks_m
