"""Each operation of a pair is counted twice.

step: matmul_tflops
expect: failed
cause: flop_miscounted
"""


def matmul_tflops(M, N, K, ms):
    return 4 * M * N * K / (ms * 1e-3) / 1e12
