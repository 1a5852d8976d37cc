"""By way of GFLOPS.

step: matmul_tflops
expect: passed
"""


def matmul_tflops(M, N, K, ms):
    def gflops(flop, seconds):
        return flop / seconds / 1e9

    return gflops(2 * M * N * K, ms * 1e-3) / 1e3
