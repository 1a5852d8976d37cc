"""Milliseconds are multiplied by 1,000 to get seconds.

step: matmul_tflops
expect: failed
cause: unit_wrong
"""


def matmul_tflops(M, N, K, ms):
    return 2 * M * N * K / (ms * 1e3) / 1e12
