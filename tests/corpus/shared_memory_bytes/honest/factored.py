"""The common side is taken out of the sum.

step: shared_memory_bytes
expect: passed
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return num_stages * itemsize * block_k * (block_m + block_n)
