"""The kernels of the table as functions of a and b. Must never change what a kernel computes."""

import functools
from functools import partial

import torch
import triton

from autograder.bench import reference
from autograder.bench.plan import BLOCKWISE, COURSE, GROUPED, IEEE_STEP, LIBRARY, NAIVE, SOURCE
from autograder.bench.source_configs import SOURCE_CONFIGS, SOURCE_FIXED, options

# The published kernels are timed with this body: it differs from theirs in its int64 offsets.
BODY = ("grouped_matmul", "grouped_matmul_kernel")

short_bench = partial(triton.testing.do_bench, warmup=10, rep=40)


def launch(kernel, a, b, variant: dict):
    """One launch of a kernel with that body, plain or tuned; `variant` is its tile and options."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device, dtype=a.dtype)

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), **variant)
    return c


def fixed(group: int, a, b):
    """The published tile of 64; with group 1 the programs run along the rows of tiles."""
    return launch(reference.kernel(*BODY), a, b, options(SOURCE_FIXED, group))


def source_tuner():
    """The same kernel, tuned over the 15 published configs."""
    configs = []
    for config in SOURCE_CONFIGS:
        values = options(config)
        named = {n: values.pop(n) for n in ("num_stages", "num_warps")}
        configs.append(triton.Config(values, **named))
    tune = triton.autotune(configs, key=["M", "N", "K"], do_bench=short_bench)
    return tune(reference.kernel(*BODY))


def naive(a, b):
    """Chapter 3's three loops. They run on the CPU, and take their operands there first."""
    return reference.function(NAIVE)(a.cpu(), b.cpu()).to(a.device)


@functools.cache  # tuners remember what they have measured
def kernels() -> tuple[dict, dict]:
    """{name: function of a and b}, and {name: tuner} for those that tune; 40 ms for each config."""
    tuner = source_tuner()
    own = reference.kernel("autotuned_matmul", "tuned_kernel")()
    own._do_bench = short_bench
    functions = {
        LIBRARY: torch.matmul,
        BLOCKWISE: partial(fixed, 1),
        GROUPED: partial(fixed, 8),
        SOURCE: lambda a, b: launch(tuner, a, b, {}),
        **{name: reference.function(name) for name in COURSE},
        IEEE_STEP: reference.function(IEEE_STEP),
        NAIVE: naive,
    }
    return functions, {SOURCE: tuner, "autotuned_matmul": own}
