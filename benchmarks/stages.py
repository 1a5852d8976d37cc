"""Times one tile by BLOCK_K and num_stages, with the shared memory and registers that each takes.

    python benchmarks/stages.py [--output FILE]

Needs an NVIDIA GPU. fp16, n = 4096, the kernel of `triton_matmul`, tiles of 128 by 128. Medians of
three interleaved rounds. A variant that does not fit the GPU has a row without a time.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import torch
from recording import MEASUREMENTS, write

from autograder.bench import compiling, reference
from autograder.bench.clock import interleaved

N = 4096
TILE = {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8}
DEPTHS = (16, 32, 64, 128)
STAGES = (1, 2, 3, 4, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "09_stages.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("stages: no GPU found")
    torch.manual_seed(9)
    a, b = (torch.randn(N, N, device="cuda").half() for _ in range(2))
    c = torch.empty_like(a)
    expected = a @ b
    arguments = (a, b, c, N, N, N, *a.stride(), *b.stride(), *c.stride())
    variants = [{"BLOCK_K": k, "num_stages": s, **TILE} for k in DEPTHS for s in STAGES]
    compiling.compile_all(
        "triton_matmul",
        "matmul_kernel",
        [(("float16",) * 3 + arguments[3:], variant) for variant in variants],
    )
    kernel = reference.kernel("triton_matmul", "matmul_kernel")
    grid = ((N // TILE["BLOCK_M"]) * (N // TILE["BLOCK_N"]),)
    limit = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    rows, calls = [], {}
    for place, variant in enumerate(variants):
        compiled = kernel.warmup(*arguments, grid=grid, **variant)
        shared = compiled.metadata.shared
        row = {"BLOCK_K": variant["BLOCK_K"], "num_stages": variant["num_stages"]}
        row |= {"shared_bytes": shared, "fits": shared <= limit}
        if row["fits"]:
            c.zero_()
            launched = kernel[grid](*arguments, **variant)
            torch.testing.assert_close(c, expected, atol=0.5, rtol=0.02)
            row |= {"registers_per_thread": launched.n_regs, "spills": launched.n_spills}
            calls[place] = partial(kernel[grid], *arguments, **variant)
        rows.append(row)
    for place, timing in interleaved(calls).items():
        rows[place] |= {**timing, "tflops": round(2 * N**3 / timing["ms"] / 1e9, 1)}
    print(*rows, sep="\n", flush=True)
    write(output, rows, n=N, dtype="float16", tile=TILE, shared_bytes_limit=limit)


if __name__ == "__main__":
    main()
