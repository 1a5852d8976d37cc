"""There is always one stage, whether it fits or not.

step: deepest_pipeline
expect: failed
cause: too_large_to_start
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    room = min(sm["shared_sm"] // programs - sm["shared_reserved"], sm["shared_block"])
    return max(room, 0) // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1) or 1
