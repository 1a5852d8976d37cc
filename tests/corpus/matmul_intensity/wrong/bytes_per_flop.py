"""The quotient is upside down.

step: matmul_intensity
expect: failed
cause: quotient_inverted
"""


def matmul_intensity(M, N, K, itemsize):
    return (M * K + K * N + M * N) * itemsize / (2 * M * N * K)
