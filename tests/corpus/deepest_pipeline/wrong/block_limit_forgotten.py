"""A program may ask for all that the SM has.

step: deepest_pipeline
expect: failed
cause: too_large_to_start
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    room = sm["shared_sm"] // programs - sm["shared_reserved"]
    return max(room, 0) // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)
