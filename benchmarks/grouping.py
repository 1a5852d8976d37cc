"""Times one kernel body in group-major order, by group, tile and size; L2 hit rates by ncu as well.

    python benchmarks/grouping.py [--output FILE]

Needs an NVIDIA GPU. fp16, the kernel of `grouped_matmul`. GROUP_M = 1 is no grouping: programs run
along the rows of tiles. The times are medians of three interleaved rounds. The hit rates come from
Nsight Compute, which empties the caches before every launch; where it is missing or may not read
the counters, the file says so.
"""

import argparse
import csv
import io
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import torch
import triton
from recording import MEASUREMENTS, write

from autograder.bench import compiling, reference
from autograder.bench.clock import interleaved

GROUPS = (1, 2, 4, 8, 16, 32)
SIZES = (1024, 2048, 4096, 8192, 16384)
COUNTED = (2048, 4096, 8192)  # sizes whose hit rates are counted
TILES = {
    64: {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "num_warps": 4, "num_stages": 3},
    128: {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3},
}
METRICS = {
    "l2_hit_percent": "lts__t_sector_op_read_hit_rate.pct",
    "l2_read_sectors": "lts__t_sectors_op_read.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
}
KERNEL = "grouped_matmul_kernel"
TIMEOUT = 240  # seconds for ncu


def launch(tile: int, group: int, a, b, c) -> None:
    """One launch on square matrices."""
    n = a.shape[0]
    options = TILES[tile]
    grid = (triton.cdiv(n, options["BLOCK_M"]) * triton.cdiv(n, options["BLOCK_N"]),)
    kernel = reference.kernel("grouped_matmul", KERNEL)
    kernel[grid](a, b, c, n, n, n, *a.stride(), *b.stride(), GROUP_M=group, **options)


def matrices(n: int) -> list[torch.Tensor]:
    """A, B and room for C."""
    generator = torch.Generator("cuda").manual_seed(n)
    return [torch.randn(n, n, device="cuda", generator=generator).half() for _ in range(3)]


def times(n: int) -> list[dict]:
    """Milliseconds and TFLOPS of every tile and group for one size, cuBLAS beside them."""
    a, b, c = matrices(n)
    calls = {(0, 0): partial(torch.matmul, a, b, out=c)}
    for tile in TILES:
        for group in GROUPS:
            calls[tile, group] = partial(launch, tile, group, a, b, c)
    expected = a @ b
    rows = []
    for (tile, group), timing in interleaved(calls, warmup=10, rep=50).items():
        c.zero_()
        calls[tile, group]()
        torch.testing.assert_close(c, expected, atol=0.5, rtol=0.02)
        kernel = (
            {"kernel": "grouped", "tile": tile, "group": group} if tile else {"kernel": "cuBLAS"}
        )
        tflops = round(2 * n**3 / timing["ms"] / 1e9, 1)
        rows.append({"n": n, **kernel, **timing, "tflops": tflops})
    return rows


def child() -> None:
    """Launches what ncu counts, in the order of `counted`."""
    for n, tile, group in counted():
        a, b, c = matrices(n)
        launch(tile, group, a, b, c)
        torch.cuda.synchronize()


def counted() -> list[tuple[int, int, int]]:
    """(n, tile, group) of every launch whose counters are read."""
    return [(n, tile, group) for n in COUNTED for tile in TILES for group in GROUPS]


def hit_rates() -> tuple[list[dict], str]:
    """A row for every counted launch, and a remark where there is none."""
    if shutil.which("ncu") is None:
        return [], "ncu is not on the PATH"
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--metrics", ",".join(METRICS.values()), "--kernel-name", KERNEL]
    try:
        done = subprocess.run(
            [*command, sys.executable, __file__, "--child"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], f"ncu did not end within {TIMEOUT} s"
    table = "\n".join(line for line in done.stdout.splitlines() if line.startswith('"'))
    found = [r for r in csv.DictReader(io.StringIO(table)) if r.get("Kernel Name") == KERNEL]
    if len(found) != len(counted()):
        return [], f"ncu told of {len(found)} launches: {(done.stdout + done.stderr)[-600:]}"
    rows = []
    for (n, tile, group), line in zip(counted(), found):
        numbers = {name: float(line[metric].replace(",", "")) for name, metric in METRICS.items()}
        rows.append({"n": n, "tile": tile, "group": group, **numbers})
    return rows, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "08_grouping.json")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("grouping: no GPU found")
    if arguments.child:
        return child()
    compiling.compile_all(
        "grouped_matmul",
        KERNEL,
        [
            (("float16",) * 3 + (1024,) * 4 + (1, 1024, 1), {"GROUP_M": group, **options})
            for options in TILES.values()
            for group in GROUPS
        ],
    )
    rows = []
    for n in SIZES:
        rows += times(n)
        print(*rows[-1 - len(TILES) * len(GROUPS) :], sep="\n", flush=True)
    counters, remark = hit_rates()
    print(*counters, remark, sep="\n", flush=True)
    tiles = {str(tile): options for tile, options in TILES.items()}
    write(
        arguments.output,
        rows,
        dtype="float16",
        tiles=tiles,
        timer="do_bench, median of 3 medians",
        counters=counters,
        metrics=METRICS,
        remark_on_counters=remark,
    )


if __name__ == "__main__":
    main()
