"""Blocks are counted by rounding up.

step: blockwise_loads
expect: passed
"""


def blockwise_loads(M, N, K, block_size):
    blocks_m = -(-M // block_size)
    blocks_n = -(-N // block_size)
    return M * K * blocks_n + K * N * blocks_m
