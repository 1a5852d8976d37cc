"""Too many stages are taken away one by one.

step: deepest_pipeline
expect: passed
"""


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    stage = (block_m + block_n) * block_k * itemsize
    stages = sm["shared_block"] // stage
    while stages and programs * (stages * stage + sm["shared_reserved"]) > sm["shared_sm"]:
        stages -= 1
    return stages
