"""Separates grouping from tuning: both on and off, with one kernel body and the same 15 configs.

    python benchmarks/two_by_two.py [--output FILE]

Needs an NVIDIA GPU. The kernel of `grouped_matmul`. "Fixed" is the published tutorial's tile of 64,
"tuned" the fastest of its 15 configs for that size, group and type; "grouped" is GROUP_M = 8,
"ungrouped" GROUP_M = 1. In fp32 the dot is TF32, and so is the library's beside it.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import torch
import triton
from recording import MEASUREMENTS, write

from autograder.bench import compiling, reference
from autograder.bench.clock import interleaved
from autograder.bench.source_configs import SOURCE_CONFIGS, SOURCE_FIXED, options

KERNEL = "grouped_matmul_kernel"
SIZES = (1024, 2048, 4096, 8192)
DTYPES = (torch.float16, torch.float32)
GROUPS = {"ungrouped": 1, "grouped": 8}


def launch(variant: dict, a, b, c) -> None:
    """One launch on square matrices."""
    n = a.shape[0]
    grid = (triton.cdiv(n, variant["BLOCK_M"]) * triton.cdiv(n, variant["BLOCK_N"]),)
    kernel = reference.kernel("grouped_matmul", KERNEL)
    kernel[grid](a, b, c, n, n, n, *a.stride(), *b.stride(), **variant)


def runs(variant: dict, a, b, c) -> bool:
    """Whether this GPU has room for the variant."""
    try:
        launch(variant, a, b, c)
    except triton.runtime.errors.OutOfResources:
        return False
    return True


def measure(n: int, dtype: torch.dtype) -> list[dict]:
    """The four cells, with the library beside them, for one size and type."""
    generator = torch.Generator("cuda").manual_seed(n)
    a, b = (torch.randn(n, n, device="cuda", generator=generator).to(dtype) for _ in range(2))
    c = torch.empty_like(a)
    chosen = {}
    for name, group in GROUPS.items():
        chosen[name, "fixed"] = options(SOURCE_FIXED, group)
        variants = [options(config, group) for config in SOURCE_CONFIGS]
        variants = [v for v in variants if runs(v, a, b, c)]
        found = interleaved(
            {i: partial(launch, v, a, b, c) for i, v in enumerate(variants)},
            rounds=1,
            warmup=5,
            rep=25,
        )
        best = min(found, key=lambda i: found[i]["ms"])
        chosen[name, "tuned"] = variants[best]
    calls = {cell: partial(launch, variant, a, b, c) for cell, variant in chosen.items()}
    calls["library", ""] = partial(torch.matmul, a, b, out=c)
    expected = a @ b
    rows = []
    for cell, timing in interleaved(calls).items():
        c.zero_()
        calls[cell]()
        torch.testing.assert_close(c, expected, atol=0.5, rtol=0.02)
        rows.append(
            {
                "n": n,
                "dtype": str(dtype).removeprefix("torch."),
                "order": cell[0],
                "config": cell[1],
                "chosen": chosen.get(cell),
                **timing,
                "tflops": round(2 * n**3 / timing["ms"] / 1e9, 1),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "10_two_by_two.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("two_by_two: no GPU found")
    torch.backends.cuda.matmul.allow_tf32 = True
    jobs = []
    for dtype in ("float16", "float32"):
        for group in GROUPS.values():
            for config in (*SOURCE_CONFIGS, SOURCE_FIXED):
                jobs.append(((dtype,) * 3 + (1024,) * 4 + (1, 1024, 1), options(config, group)))
    compiling.compile_all("grouped_matmul", KERNEL, jobs)
    rows = []
    for dtype in DTYPES:
        for n in SIZES:
            rows += measure(n, dtype)
            print(*rows[-5:], sep="\n", flush=True)
    write(output, rows, timer="do_bench, median of 3 medians", fp32_is="TF32, the library's too")


if __name__ == "__main__":
    main()
