"""Only K - 1 additions are counted for K products.

step: matmul_tflops
expect: failed
cause: flop_miscounted
"""


def matmul_tflops(M, N, K, ms):
    return M * N * (2 * K - 1) / (ms * 1e-3) / 1e12
