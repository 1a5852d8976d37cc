"""The loop ends at the first number of stages that does not fit, and returns it.

step: deepest_pipeline
expect: failed
cause: buffers_miscounted
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    room = min(sm["shared_sm"] // programs - sm["shared_reserved"], sm["shared_block"])
    stages = 1
    while shared_memory_bytes(block_m, block_n, block_k, itemsize, stages) <= room:
        stages += 1
    return stages
