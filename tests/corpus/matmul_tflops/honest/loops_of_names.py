"""Each quantity has a name.

step: matmul_tflops
expect: passed
"""


def matmul_tflops(M, N, K, ms):
    multiplications = M * N * K
    additions = M * N * K
    seconds = ms / 1000
    return (multiplications + additions) / seconds / 10**12
