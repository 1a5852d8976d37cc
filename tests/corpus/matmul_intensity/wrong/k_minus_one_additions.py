"""Only K - 1 additions are counted for K products.

step: matmul_intensity
expect: failed
cause: flop_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    return M * N * (2 * K - 1) / ((M * K + K * N + M * N) * itemsize)
