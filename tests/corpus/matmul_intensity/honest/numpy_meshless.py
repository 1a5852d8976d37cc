"""NumPy does the arithmetic, in floats.

step: matmul_intensity
expect: passed
"""


def matmul_intensity(M, N, K, itemsize):
    import numpy as np

    sizes = np.array([M * K, K * N, M * N], dtype=np.float64)
    return 2.0 * M * N * K / (sizes.sum() * itemsize)
