"""Grades every reference solution on a GPU as a learner's would be, its speed included.

    python benchmarks/gpu_solutions.py [--seed S] [--output FILE]

Needs an NVIDIA GPU. Steps of plain Python, which no GPU runs, are left out. Ends with 1 if a check
did not pass or was not measured.
"""

import argparse
import sys
from pathlib import Path

from recording import MEASUREMENTS, ROOT, write
from resumable import bar

sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from seeds import SEED

from autograder import course, grading
from autograder.gpu import has_gpu
from autograder.result import StepResult
from autograder.sandbox import Sandbox
from autograder.submission import read


def row(result: StepResult) -> dict:
    """What the record keeps of one step: how many checks passed, which did not, and its speed."""
    passed = [check for check in result.checks if check.status == "passed"]
    others = [check for check in result.checks if check.status != "passed"]
    return {
        "step": result.step,
        "status": result.status,
        "points": result.points,
        "max_points": result.max_points,
        "checks_passed": len(passed),
        "others": [{"check": c.name, "status": c.status, "message": c.message} for c in others],
        "performance": result.performance,
        "seconds": round(result.seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "gpu_solutions.json")
    given = parser.parse_args()
    if not has_gpu():
        sys.exit("gpu_solutions: there is no GPU here")
    steps = [step for step in course.STEPS if step.task.kernel]
    settings, rows = grading.Settings(given.seed), []
    with Sandbox(gpu=True) as sandbox, bar("solutions", len(steps)) as done:
        for step in steps:
            submission = read(ROOT / "solutions" / f"{step.folder}.py")
            rows.append(
                row(grading.grade_step(submission, step, sandbox, settings, lambda *_: None))
            )
            done(step.name)
    if len(rows) < len(steps):
        sys.exit("gpu_solutions: interrupted, so nothing is recorded")
    write(given.output, rows, seed=given.seed)
    for r in rows:
        speed = r["performance"]
        share = f"{speed['ratio']:.2f} of the library" if speed else ""
        print(f"{r['step']:22} {r['status']:13} {r['checks_passed']:3} checks  {share}")
        for other in r["others"]:
            print(f"    {other['check']}: {other['status']}. {other['message']}")
    sys.exit(0 if all(r["status"] == "passed" for r in rows) else 1)


if __name__ == "__main__":
    main()
