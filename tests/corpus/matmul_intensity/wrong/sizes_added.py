"""The sizes are added up instead of the areas.

step: matmul_intensity
expect: failed
cause: traffic_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 * M * N * K / ((M + N + K) * itemsize)
