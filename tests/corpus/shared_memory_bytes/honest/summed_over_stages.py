"""One stage after another is added.

step: shared_memory_bytes
expect: passed
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    total = 0
    for _ in range(num_stages):
        total += block_m * block_k * itemsize
        total += block_k * block_n * itemsize
    return total
