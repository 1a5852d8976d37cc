"""A block of one element is taken to reuse everything.

step: blockwise_loads
expect: failed
cause: operand_missing|wrong_values
"""


def blockwise_loads(M, N, K, block_size):
    if block_size == 1:
        return M * K + K * N
    blocks_m = -(-M // block_size)
    blocks_n = -(-N // block_size)
    return M * K * blocks_n + K * N * blocks_m
