"""The short formula for square matrices is used for all.

step: matmul_intensity
expect: failed
cause: traffic_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 * M / (3 * itemsize)
