"""The tile of B is taken to be as large as that of A.

step: shared_memory_bytes
expect: failed
cause: buffers_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return 2 * block_m * block_k * itemsize * num_stages
