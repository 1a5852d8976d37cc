"""All powers of ten in one.

step: matmul_tflops
expect: passed
"""


def matmul_tflops(M, N, K, ms):
    return 2 * M * N * K / ms * 1e-9
