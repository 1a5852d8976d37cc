"""Two loads are counted for every multiplication.

step: matmul_intensity
expect: failed
cause: traffic_miscounted
"""


def matmul_intensity(M, N, K, itemsize):
    loads = 2 * M * N * K
    return 2 * M * N * K / ((loads + M * N) * itemsize)
