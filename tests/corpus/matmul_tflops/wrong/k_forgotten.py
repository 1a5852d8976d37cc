"""The sum over K is left out.

step: matmul_tflops
expect: failed
cause: flop_miscounted
"""


def matmul_tflops(M, N, K, ms):
    return 2 * M * N / (ms * 1e-3) / 1e12
