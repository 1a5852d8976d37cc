"""The quotient is rounded down.

step: matmul_intensity
expect: failed
cause: wrong_type|traffic_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 * M * N * K // ((M * K + K * N + M * N) * itemsize)
