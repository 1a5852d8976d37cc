"""A is counted once for each row of blocks, B once for each column.

step: blockwise_loads
expect: failed
cause: tile_dimensions_confused
"""


def blockwise_loads(M, N, K, block_size):
    blocks_m = -(-M // block_size)
    blocks_n = -(-N // block_size)
    return M * K * blocks_m + K * N * blocks_n
