"""One loop for each rule, with the loads kept beside the configs.

step: prune_configs
expect: passed
"""


def prune_configs(configs, named_args, **kwargs):
    gpu = kwargs.get("gpu")
    size = named_args["a_ptr"].element_size()
    fit = []
    for c in configs:
        m, n, k = c.kwargs["BLOCK_M"], c.kwargs["BLOCK_N"], c.kwargs["BLOCK_K"]
        if c.num_stages * size * (m * k + k * n) <= gpu["max_shared_mem"]:
            fit.append(c)
    roomy = []
    for c in fit:
        if c.kwargs["BLOCK_M"] * c.kwargs["BLOCK_N"] <= 128 * 32 * c.num_warps:
            roomy.append(c)
    if not roomy:
        roomy = fit
    loads = []
    for c in roomy:
        m, n = c.kwargs["BLOCK_M"], c.kwargs["BLOCK_N"]
        programs = -(-named_args["M"] // m) * -(-named_args["N"] // n)
        loads.append(-(-programs // gpu["multiprocessor_count"]) * (m + n))
    return [c for c, load in zip(roomy, loads) if load <= 2 * min(loads)]
