"""A tera is taken for 2 to the 40th.

step: matmul_tflops
expect: failed
cause: unit_wrong
"""


def matmul_tflops(M, N, K, ms):
    return 2 * M * N * K / (ms * 1e-3) / 2**40
