"""B is taken for an (N, N) matrix.

step: matmul_intensity
expect: failed
cause: traffic_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 * M * N * K / ((M * K + N * N + M * N) * itemsize)
