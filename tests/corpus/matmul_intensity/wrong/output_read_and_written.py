"""C is counted twice, as if it were read as well.

step: matmul_intensity
expect: failed
cause: traffic_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 * M * N * K / ((M * K + K * N + 2 * M * N) * itemsize)
