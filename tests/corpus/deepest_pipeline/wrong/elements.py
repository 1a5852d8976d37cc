"""A stage is counted in elements.

step: deepest_pipeline
expect: failed
cause: bytes_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    room = min(sm["shared_sm"] // programs - sm["shared_reserved"], sm["shared_block"])
    return max(room, 0) // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)
