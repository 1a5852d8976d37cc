"""KB in place of bytes, as a float.

step: shared_memory_bytes
expect: failed
cause: wrong_type
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages / 1024
