"""The tile of B is forgotten.

step: shared_memory_bytes
expect: failed
cause: buffers_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return block_m * block_k * itemsize * num_stages
