"""NumPy's integer is returned.

step: shared_memory_bytes
expect: passed
"""

import numpy as np


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    elements = np.prod([block_m, block_k]) + np.prod([block_k, block_n])
    return elements * itemsize * num_stages
