"""Times every step's reference solution, graded by a worker that is already running.

    python benchmarks/warm_steps.py [--runs N] [--output FILE]

In the interpreter, compile check included, as `check()` in a notebook grades once it has done so
before. Every run draws another seed. Needs no GPU, and a machine with nothing else to do.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

from recording import MEASUREMENTS, ROOT, write
from resumable import bar

sys.path.insert(0, str(ROOT))
from autograder import course, grading
from autograder.sandbox import Sandbox
from autograder.submission import read


def seconds(step: course.Step, seed: int, sandbox: Sandbox) -> float:
    """How long one grading takes, which must pass."""
    submission = read(ROOT / "solutions" / f"{step.folder}.py")
    settings = grading.Settings(seed, speed=False)
    result = grading.grade_step(submission, step, sandbox, settings, lambda *_: None)
    if not result.passed:
        sys.exit(f"warm_steps: {step.name} does not pass with seed {seed}")
    return result.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "warm_steps.json")
    options = parser.parse_args()
    rows = []
    with Sandbox() as sandbox, bar("steps", len(course.STEPS)) as done:
        for step in course.STEPS:
            seconds(step, 0, sandbox)
            times = [seconds(step, seed, sandbox) for seed in range(1, options.runs + 1)]
            rows.append(
                {
                    "step": step.name,
                    "median_s": round(statistics.median(times), 2),
                    "min_s": round(min(times), 2),
                    "max_s": round(max(times), 2),
                }
            )
            done(step.name)
    total = round(sum(row["median_s"] for row in rows), 1)
    cores = len(os.sched_getaffinity(0))
    write(options.output, rows, runs=options.runs, cores=cores, sum_of_medians_s=total)
    for row in sorted(rows, key=lambda row: -row["median_s"])[:5]:
        print(f"{row['step']:20} {row['median_s']:.2f} s")
    print(f"all steps: {total} s on {cores} cores")


if __name__ == "__main__":
    main()
