"""math.ceil rounds up.

step: blockwise_loads
expect: passed
"""

import math


def blockwise_loads(M, N, K, block_size):
    return K * (M * math.ceil(N / block_size) + N * math.ceil(M / block_size))
