"""As the compiler does it for sm_80.

step: shared_memory_bytes
expect: failed
cause: buffers_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * max(1, num_stages - 1)
