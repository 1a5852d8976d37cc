"""The room of a program is rounded down to whole units.

step: deepest_pipeline
expect: passed
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    share = sm["shared_sm"] // programs // sm["shared_unit"] * sm["shared_unit"]
    room = min(max(0, share - sm["shared_reserved"]), sm["shared_block"])
    return room // shared_memory_bytes(block_m, block_n, block_k, itemsize, 1)
