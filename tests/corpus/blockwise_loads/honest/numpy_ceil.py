"""NumPy rounds up, and the count is made an int.

step: blockwise_loads
expect: passed
"""

import numpy as np


def blockwise_loads(M, N, K, block_size):
    blocks = np.ceil(np.array([M, N]) / block_size).astype(np.int64)
    return int(M * K * blocks[1] + K * N * blocks[0])
