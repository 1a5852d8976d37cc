"""Only the loads of B are counted.

step: blockwise_loads
expect: failed
cause: operand_missing
"""


def blockwise_loads(M, N, K, block_size):
    blocks_m = -(-M // block_size)
    blocks_n = -(-N // block_size)
    return K * N * blocks_m
