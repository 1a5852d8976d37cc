"""The limits of the GPU are a parameter with a name; floats in between.

step: prune_configs
expect: passed
"""

from math import ceil


def prune_configs(configs, named_args, *, gpu, **launch):
    M, N = named_args["M"], named_args["N"]
    bits = named_args["a_ptr"].element_size() * 8

    def loads(c):
        m, n = c.kwargs["BLOCK_M"], c.kwargs["BLOCK_N"]
        return ceil(ceil(M / m) * ceil(N / n) / gpu["multiprocessor_count"]) * (m + n)

    def starts(c):
        k, stages = c.kwargs["BLOCK_K"], c.num_stages
        return (c.kwargs["BLOCK_M"] + c.kwargs["BLOCK_N"]) * k * stages * bits / 8 <= gpu[
            "max_shared_mem"
        ]

    left = list(filter(starts, configs))
    if any(c.kwargs["BLOCK_M"] * c.kwargs["BLOCK_N"] <= 4096 * c.num_warps for c in left):
        left = [c for c in left if c.kwargs["BLOCK_M"] * c.kwargs["BLOCK_N"] <= 4096 * c.num_warps]
    if not left:
        return []
    least = min(loads(c) for c in left)
    return [c for c in left if loads(c) / 2 <= least]
