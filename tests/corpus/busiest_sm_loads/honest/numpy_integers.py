"""Counts with NumPy, and returns one of its integers.

step: busiest_sm_loads
expect: passed
"""

import numpy as np


def busiest_sm_loads(M, N, block_m, block_n, sms):
    tiles = -(-np.array([M, N]) // np.array([block_m, block_n]))
    return -(-tiles.prod() // sms) * (block_m + block_n)
