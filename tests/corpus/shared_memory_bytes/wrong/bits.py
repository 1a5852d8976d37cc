"""Bits in place of bytes.

step: shared_memory_bytes
expect: failed
cause: bytes_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return 8 * (block_m * block_k + block_k * block_n) * itemsize * num_stages
