"""The three reciprocal sizes are added.

step: matmul_intensity
expect: passed
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 / itemsize / (1 / M + 1 / N + 1 / K)
