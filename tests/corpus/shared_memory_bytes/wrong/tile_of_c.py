"""The tile of C in place of the operands.

step: shared_memory_bytes
expect: failed
cause: buffers_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return block_m * block_n * itemsize * num_stages
