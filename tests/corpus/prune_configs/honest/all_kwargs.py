"""Reads warps and stages from `all_kwargs`, and the bytes from the dtype.

step: prune_configs
expect: passed
"""

import triton


def prune_configs(configs, named_args, **kwargs):
    gpu = kwargs["gpu"]
    itemsize = named_args["b_ptr"].dtype.itemsize

    def needs(c):
        all_ = c.all_kwargs()
        m, n, k = all_["BLOCK_M"], all_["BLOCK_N"], all_["BLOCK_K"]
        programs = triton.cdiv(named_args["M"], m) * triton.cdiv(named_args["N"], n)
        return {
            "shared": (m + n) * k * itemsize * all_["num_stages"],
            "registers": m * n // (all_["num_warps"] * 32),
            "loads": triton.cdiv(programs, gpu["multiprocessor_count"]) * (m + n),
        }

    fit = [c for c in configs if needs(c)["shared"] <= gpu["max_shared_mem"]]
    roomy = [c for c in fit if needs(c)["registers"] <= 128] or fit
    loads = [needs(c)["loads"] for c in roomy]
    return [c for c, load in zip(roomy, loads) if load <= 2 * min(loads)]
