"""The elements are counted from a list of shapes.

step: matmul_intensity
expect: passed
"""


def matmul_intensity(M, N, K, itemsize):
    import math

    shapes = [(M, K), (K, N), (M, N)]
    nbytes = sum(math.prod(s) for s in shapes) * itemsize
    return 2 * math.prod((M, N, K)) / nbytes
