"""A multiplication and an addition are counted as one operation.

step: matmul_intensity
expect: failed
cause: flop_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return M * N * K / ((M * K + K * N + M * N) * itemsize)
