"""Floats from the start.

step: matmul_tflops
expect: passed
"""


def matmul_tflops(M, N, K, ms):
    return 2.0 * float(M) * float(N) * float(K) / (float(ms) * 1e9)
