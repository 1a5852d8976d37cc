"""Times `vector_add` from 16 to 2²⁷ elements with four clocks: where the launch, not the GPU, is timed.

    python benchmarks/launch_floor.py [--output FILE]

Needs an NVIDIA GPU. float32, three arrays. `do_bench` empties the L2 cache before every call; the
graph replays 20 calls on the same arrays, so small ones stay in the cache.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch
import triton
from recording import MEASUREMENTS, write

from autograder.bench import reference
from autograder.bench.clock import graph, replay_ms

CALLS = 20  # in one graph
REPEATS = 100  # of the host's clock


def host_ms(call, wait: bool) -> float:
    """Median milliseconds by the host's clock, with or without waiting for the GPU."""
    times = []
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        if wait:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return 1e3 * statistics.median(times)


def measure(n: int, add) -> dict:
    """One row: milliseconds by each clock, and the bandwidth by each of the two of the GPU."""
    x, y = (torch.randn(n, device="cuda") for _ in range(2))

    def call():
        return add(x, y)

    if not torch.equal(call(), x + y):
        sys.exit(f"launch_floor: vector_add is wrong for n = {n}; nothing was recorded")
    ms = {
        "do_bench": triton.testing.do_bench(call, return_mode="median"),
        "graph": replay_ms(graph([call] * CALLS), CALLS),
        "host_without_sync": host_ms(call, wait=False),
        "host_with_sync": host_ms(call, wait=True),
    }
    gigabytes = 3 * 4 * n / 1e9
    return {
        "n": n,
        **{f"{clock}_ms": round(value, 6) for clock, value in ms.items()},
        "do_bench_gb_per_s": round(gigabytes / ms["do_bench"] * 1e3, 2),
        "graph_gb_per_s": round(gigabytes / ms["graph"] * 1e3, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "02_launch_floor.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("launch_floor: no GPU found")
    add = reference.function("vector_add")
    measure(2**20, add)  # the GPU wakes up, and the host has run everything once
    rows = []
    for exponent in range(4, 28):
        rows.append(measure(2**exponent, add))
        print(rows[-1], flush=True)
    write(output, rows, dtype="float32", timer="medians; the host's clock of 100 calls")


if __name__ == "__main__":
    main()
