"""Blocks at the edge are counted as whole ones.

step: blockwise_loads
expect: failed
cause: padding_counted
"""


def blockwise_loads(M, N, K, block_size):
    blocks_m = -(-M // block_size)
    blocks_n = -(-N // block_size)
    blocks_k = -(-K // block_size)
    return 2 * blocks_m * blocks_n * blocks_k * block_size**2
