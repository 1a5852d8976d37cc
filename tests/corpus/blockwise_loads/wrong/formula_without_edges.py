"""The formula 2MNK/b, rounded, is right for whole blocks only.

step: blockwise_loads
expect: failed
cause: tail_dropped
"""


def blockwise_loads(M, N, K, block_size):
    return 2 * M * N * K // block_size
