"""The blocks of C are walked, and each block's strips of A and B are counted.

step: blockwise_loads
expect: passed
"""


def blockwise_loads(M, N, K, block_size):
    loads = 0
    for i in range(0, M, block_size):
        for j in range(0, N, block_size):
            loads += K * (min(block_size, M - i) + min(block_size, N - j))
    return loads
