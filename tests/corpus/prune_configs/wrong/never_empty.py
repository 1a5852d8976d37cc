"""Where none can start, all come back.

step: prune_configs
expect: failed
cause: nothing_left
"""

import triton


def busiest_loads(M, N, block_m, block_n, sms):
    programs = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    return triton.cdiv(programs, sms) * (block_m + block_n)


def prune_configs(configs, named_args, **kwargs):
    gpu = kwargs["gpu"]
    itemsize = named_args["a_ptr"].element_size()

    def shared_bytes(c):
        elements = (c.kwargs["BLOCK_M"] + c.kwargs["BLOCK_N"]) * c.kwargs["BLOCK_K"]
        return elements * itemsize * c.num_stages

    def registers(c):
        return c.kwargs["BLOCK_M"] * c.kwargs["BLOCK_N"] / (32 * c.num_warps)

    def loads(c):
        sizes = named_args["M"], named_args["N"], c.kwargs["BLOCK_M"], c.kwargs["BLOCK_N"]
        return busiest_loads(*sizes, gpu["multiprocessor_count"])

    fit = [c for c in configs if shared_bytes(c) <= gpu["max_shared_mem"]]
    roomy = [c for c in fit if registers(c) <= 128] or fit
    least = min(map(loads, roomy), default=0)
    return [c for c in roomy if loads(c) <= 2 * least] or list(configs)
