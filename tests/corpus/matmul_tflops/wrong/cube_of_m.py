"""The formula for square matrices is used for all.

step: matmul_tflops
expect: failed
cause: flop_miscounted
"""


def matmul_tflops(M, N, K, ms):
    return 2 * M**3 / (ms * 1e-3) / 1e12
