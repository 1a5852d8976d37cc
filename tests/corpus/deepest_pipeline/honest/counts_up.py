"""Stages are added as long as all programs fit.

step: deepest_pipeline
expect: passed
"""


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    stage = block_k * (block_m + block_n) * itemsize
    stages = 0
    while True:
        one = (stages + 1) * stage
        if one > sm["shared_block"] or (one + sm["shared_reserved"]) * programs > sm["shared_sm"]:
            return stages
        stages += 1
