"""Only the loads of A are counted.

step: blockwise_loads
expect: failed
cause: operand_missing
"""


def blockwise_loads(M, N, K, block_size):
    blocks_m = -(-M // block_size)
    blocks_n = -(-N // block_size)
    return M * K * blocks_n
