"""A stage is taken to hold the tile of C.

step: deepest_pipeline
expect: failed
cause: buffers_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_n) * itemsize * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    room = min(sm["shared_sm"] // programs - sm["shared_reserved"], sm["shared_block"])
    return max(room, 0) // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)
