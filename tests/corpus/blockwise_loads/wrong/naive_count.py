"""Each product loads its two factors anew.

step: blockwise_loads
expect: failed
cause: reuse_ignored
"""


def blockwise_loads(M, N, K, block_size):
    return 2 * M * N * K
