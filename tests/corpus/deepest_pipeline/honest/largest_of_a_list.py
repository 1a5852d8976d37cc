"""All numbers of stages that fit, and the largest of them.

step: deepest_pipeline
expect: passed
"""


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return (block_m * block_k + block_k * block_n) * itemsize * num_stages


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    def fits(stages):
        used = shared_memory_bytes(block_m, block_n, block_k, itemsize, stages)
        resident = sm["shared_sm"] // (used + sm["shared_reserved"])
        return used <= sm["shared_block"] and resident >= programs

    return max((stages for stages in range(1, 1000) if fits(stages)), default=0)
