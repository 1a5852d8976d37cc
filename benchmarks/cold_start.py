"""Times one step graded from a cold start, as a learner does it, for the figure in the README.

    python benchmarks/cold_start.py [--runs N] [--output FILE]

Each run is a whole `python -m autograder grade … --step …` process. Needs no GPU.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from recording import MEASUREMENTS, ROOT, write

STEPS = {
    "vector_add": "solutions/04_first_kernels.py",
    "triton_matmul": "solutions/06_triton_matmul.py",
}


def seconds(step: str, path: str) -> float:
    """Wall-clock seconds of one grading, which must pass."""
    command = [sys.executable, "-m", "autograder", "grade", path, "--step", step, "--device", "cpu"]
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "cold_start.json")
    arguments = parser.parse_args()
    rows = []
    for step, path in STEPS.items():
        times = [seconds(step, path) for _ in range(arguments.runs)]
        rows.append(
            {
                "step": step,
                "median_s": round(statistics.median(times), 2),
                "min_s": round(min(times), 2),
                "max_s": round(max(times), 2),
            }
        )
        print(rows[-1], flush=True)
    write(arguments.output, rows, runs=arguments.runs, cores=len(os.sched_getaffinity(0)))


if __name__ == "__main__":
    main()
