"""C is not counted among the bytes.

step: matmul_intensity
expect: failed
cause: traffic_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 * M * N * K / ((M * K + K * N) * itemsize)
