"""The time is taken for seconds.

step: matmul_tflops
expect: failed
cause: unit_wrong
"""


def matmul_tflops(M, N, K, ms):
    return 2 * M * N * K / ms / 1e12
