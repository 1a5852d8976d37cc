"""Elements are counted in bits.

step: matmul_intensity
expect: failed
cause: unit_wrong
"""


def matmul_intensity(M, N, K, itemsize):
    return 2 * M * N * K / ((M * K + K * N + M * N) * itemsize * 8)
