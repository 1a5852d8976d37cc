"""The time is rounded to whole milliseconds.

step: matmul_tflops
expect: failed|error
cause: flop_miscounted|crashed|unit_wrong
"""


def matmul_tflops(M, N, K, ms):
    return 2 * M * N * K / (max(round(ms), 1) * 1e-3) / 1e12
