"""Each matrix has a name.

step: matmul_intensity
expect: passed
"""


def matmul_intensity(M, N, K, itemsize):
    a, b, c = M * K, K * N, M * N
    flop = 2 * M * N * K
    nbytes = itemsize * (a + b + c)
    return flop / nbytes
