"""Every element is taken to have 2 bytes.

step: matmul_intensity
expect: failed
cause: traffic_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 * M * N * K / ((M * K + K * N + M * N) * 2)
