"""Times the loops of chapter 3 on one core: over tensors, over lists, and the library, cold and warm.

    python benchmarks/python_loops.py [--output FILE]

The library's first product is timed in a fresh process, where it is cold. Needs no GPU.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from recording import MEASUREMENTS, write

N = 26
BLOCK = 4
COLD = """
import json, time, torch
a, b = torch.randn({n}, {n}), torch.randn({n}, {n})
times = []
for _ in range(1000):
    start = time.perf_counter()
    a @ b
    times.append(time.perf_counter() - start)
print(json.dumps([times[0], times[1], sorted(times)[500]]))
"""


def three(a, b, c, n):
    """Three loops, adding to C in every turn."""
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]


def six(a, b, c, n):
    """Six loops, adding to C once for every block along K."""
    for i in range(0, n, BLOCK):
        for j in range(0, n, BLOCK):
            for k in range(0, n, BLOCK):
                for ii in range(i, min(i + BLOCK, n)):
                    for jj in range(j, min(j + BLOCK, n)):
                        part = 0.0
                        for kk in range(k, min(k + BLOCK, n)):
                            part += a[ii][kk] * b[kk][jj]
                        c[ii][jj] += part


def fastest(f, repeats: int) -> float:
    """Milliseconds of the fastest run: other processes can only add to it."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "03_python_loops.json")
    arguments = parser.parse_args()

    command = [sys.executable, "-c", COLD.format(n=N)]
    cold = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    import torch

    torch.set_num_threads(1)
    a, b = torch.randn(N, N), torch.randn(N, N)
    lists = a.tolist(), b.tolist(), torch.zeros(N, N).tolist()
    rows = [
        {"what": "three loops over tensors", "ms": fastest(lambda: three(a, b, torch.zeros(N, N), N), 5)},
        {"what": "six loops over tensors", "ms": fastest(lambda: six(a, b, torch.zeros(N, N), N), 5)},
        {"what": "three loops over lists", "ms": fastest(lambda: three(*lists, N), 20)},
        {"what": "library, first call", "ms": cold[0] * 1e3},
        {"what": "library, second call", "ms": cold[1] * 1e3},
        {"what": "library, median of 1000 calls", "ms": cold[2] * 1e3},
    ]  # fmt: skip
    for row in rows:
        row["ms"] = float(f"{row['ms']:.4g}")
        print(f"{row['what']:30} {row['ms']:10.4f} ms")
    write(arguments.output, rows, n=N, block=BLOCK)


if __name__ == "__main__":
    main()
