"""What one program may ask for is divided among all.

step: deepest_pipeline
expect: failed
cause: shared_units
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    room = sm["shared_block"] // programs
    return max(room, 0) // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)
