"""Times every config of a whole grid of tiles, warps and stages: what an autotuner chooses from.

    python benchmarks/sweep.py [--output FILE]

Needs an NVIDIA GPU. fp16, the kernel of `grouped_matmul` with GROUP_M = 8. One round each, by
`do_bench` with a short window: neighbours in the ranking may change places from run to run.
"""

import argparse
import itertools
import sys
from functools import partial
from pathlib import Path

import torch
import triton
from recording import MEASUREMENTS, write

from autograder.bench import compiling, reference

KERNEL = "grouped_matmul_kernel"
SHAPES = (
    (4096, 4096, 4096),
    (3072, 3072, 3072),
    (1024, 1024, 1024),
    (128, 4096, 4096),
    (8, 4096, 4096),
)
NAMES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
SIDES = {
    "BLOCK_M": (16, 32, 64, 128, 256),
    "BLOCK_N": (32, 64, 128, 256),
    "BLOCK_K": (32, 64, 128),
    "num_warps": (4, 8),
    "num_stages": (2, 3, 4),
}


def candidates(limit: int) -> list[dict]:
    """The configs that fit: operand buffers in shared memory, the accumulator in registers."""
    found = []
    for values in itertools.product(*(SIDES[name] for name in NAMES)):
        m, n, k, warps, stages = values
        operands = (m + n) * k * 2 * stages
        accumulator = m * n // (32 * warps)  # registers of a thread, of at most 255
        if operands <= limit and 4 <= accumulator <= 128:
            found.append(dict(zip(NAMES, values)))
    return found


def measure(shape: tuple[int, int, int], configs: list[dict]) -> list[tuple[float | None, dict]]:
    """Milliseconds and resources of every config for one shape, in order.

    No time where more than half of a tile's rows would be empty, or where the GPU has too little
    room for the config.
    """
    M, N, K = shape
    generator = torch.Generator("cuda").manual_seed(M)
    a = torch.randn(M, K, device="cuda", generator=generator).half()
    b = torch.randn(K, N, device="cuda", generator=generator).half()
    c = torch.empty(M, N, device="cuda", dtype=a.dtype)
    expected = a @ b
    kernel = reference.kernel("grouped_matmul", KERNEL)
    strides = (*a.stride(), *b.stride())
    found = []
    for config in configs:
        if config["BLOCK_M"] > max(16, 2 * M):
            found.append((None, {}))
            continue
        grid = (triton.cdiv(M, config["BLOCK_M"]) * triton.cdiv(N, config["BLOCK_N"]),)
        call = partial(kernel[grid], a, b, c, M, N, K, *strides, GROUP_M=8, **config)
        c.zero_()
        try:
            compiled = call()
        except triton.runtime.errors.OutOfResources:
            found.append((None, {}))
            continue
        torch.testing.assert_close(c, expected, atol=0.5, rtol=0.02)
        ms = triton.testing.do_bench(call, warmup=3, rep=12, return_mode="median")
        resources = {
            "shared_bytes": compiled.metadata.shared,
            "registers": compiled.n_regs,
            "spills": compiled.n_spills,
        }
        found.append((round(ms, 6), resources))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "10_sweep.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("sweep: no GPU found")
    configs = candidates(torch.cuda.get_device_properties(0).shared_memory_per_block_optin)
    jobs = [
        (("float16",) * 3 + (M, N, K, K, 1, N, 1), {"GROUP_M": 8, **config})
        for M, N, K in (SHAPES[0], SHAPES[-1])  # M = 8 is compiled apart: no multiple of 16
        for config in configs
        if config["BLOCK_M"] <= max(16, 2 * M)
    ]
    compiling.compile_all("grouped_matmul", KERNEL, jobs)
    rows = [{**config, "ms": {}} for config in configs]
    library = {}
    for M, N, K in SHAPES:
        name = f"{M}x{N}x{K}"
        for row, (ms, resources) in zip(rows, measure((M, N, K), configs)):
            row["ms"][name] = ms
            row.update(resources)
        a = torch.randn(M, K, device="cuda").half()
        b = torch.randn(K, N, device="cuda").half()
        library[name] = round(
            triton.testing.do_bench(partial(torch.matmul, a, b), return_mode="median"), 6
        )
        timed = sorted((r for r in rows if r["ms"][name]), key=lambda r: r["ms"][name])
        print(f"{name}: {len(timed)} configs, cuBLAS {library[name]}", flush=True)
        for row in timed[:12]:
            print(f"  {row['ms'][name]}", {n: row[n] for n in NAMES}, flush=True)
    write(
        output,
        rows,
        dtype="float16",
        GROUP_M=8,
        library_ms=library,
        timer="do_bench, one median",
    )


if __name__ == "__main__":
    main()
