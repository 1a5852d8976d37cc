"""Each operand is loaded once.

step: blockwise_loads
expect: failed
cause: reuse_ignored|operand_missing
"""


def blockwise_loads(M, N, K, block_size):
    return M * K + K * N
