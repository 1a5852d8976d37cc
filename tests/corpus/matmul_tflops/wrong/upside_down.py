"""The quotient is upside down.

step: matmul_tflops
expect: failed
cause: quotient_inverted
"""


def matmul_tflops(M, N, K, ms):
    return (ms * 1e-3) * 1e12 / (2 * M * N * K)
