"""Blocks are counted by rounding down.

step: blockwise_loads
expect: failed
cause: tail_dropped
"""


def blockwise_loads(M, N, K, block_size):
    blocks_m = M // block_size
    blocks_n = N // block_size
    return M * K * blocks_n + K * N * blocks_m
