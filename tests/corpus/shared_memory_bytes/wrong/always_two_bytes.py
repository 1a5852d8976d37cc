"""Every element is taken to have two bytes.

step: shared_memory_bytes
expect: failed
cause: bytes_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * 2 * num_stages
