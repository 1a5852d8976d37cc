"""The reuse is divided by, and the count is a float.

step: blockwise_loads
expect: failed
cause: wrong_type
"""


def blockwise_loads(M, N, K, block_size):
    return M * N * K / block_size + M * N * K / block_size
