"""A multiplication and an addition are counted as one operation.

step: matmul_tflops
expect: failed
cause: flop_miscounted
"""


def matmul_tflops(M, N, K, ms):
    return M * N * K / (ms * 1e-3) / 1e12
