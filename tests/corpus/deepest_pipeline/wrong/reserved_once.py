"""The system is taken to keep its memory once for the SM.

step: deepest_pipeline
expect: failed
cause: shared_units
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    room = min((sm["shared_sm"] - sm["shared_reserved"]) // programs, sm["shared_block"])
    return max(room, 0) // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)
