"""The same class graded by `autograder batch` and by nbgrader's own autograde, on the same cores.

    python benchmarks/class_of_100.py [--students N] [--exercise NN_slug] [--seed S] [--output FILE]

The students' notebooks are the exercise as nbgrader released it, with steps from tests/corpus, the
reference solution, or nothing in its solution cells. nbgrader executes each from start to end, check
cells included, as a student who runs all cells does; `batch` takes the functions out of it and grades
those. Both begin cold, and both end when every notebook has its result. Needs no GPU.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from recording import MEASUREMENTS, ROOT, write
from resumable import commit

sys.path.insert(0, str(ROOT))
from autograder import authoring, course

CORPUS = ROOT / "tests" / "corpus"
# How a step of a student is written, and how often.
KINDS = {"reference": 5, "honest": 2, "wrong": 3, "unwritten": 1}


def make_class(root: Path, exercise: str, students: int, seed: int) -> None:
    """A course folder as nbgrader keeps it: the release, and what each student handed in."""
    source = root / "source" / exercise
    source.mkdir(parents=True)
    solution = ROOT / "solutions" / f"{exercise}.py"
    name = authoring.exercise_path(solution).name
    (source / name).write_bytes(authoring.dumps(authoring.exercise(solution)))
    done = nbgrader(root, "generate_assignment", exercise)
    if done.returncode:
        sys.exit(f"nbgrader released nothing:\n{done.stderr[-2000:]}")
    release = nbformat.read(root / "release" / exercise / name, as_version=4)
    answers = authoring.filled(release, solution)
    rng = random.Random(seed)
    for n in range(1, students + 1):
        notebook = nbformat.from_dict(release)
        for cell, answer in zip(notebook.cells, answers.cells):
            step = cell.metadata.get("nbgrader", {}).get("grade_id")
            if course.find_step(step) is not None:
                cell.source = written(step, cell.source, answer.source, rng)
        folder = root / "submitted" / f"student_{n:03d}" / exercise
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / name)


def written(step: str, skeleton: str, reference: str, rng: random.Random) -> str:
    """What one student wrote for one step."""
    [kind] = rng.choices(list(KINDS), list(KINDS.values()))
    if kind == "unwritten":
        return skeleton
    if kind == "reference":
        return reference
    return rng.choice(sorted((CORPUS / step / kind).glob("*.py"))).read_text(encoding="utf-8")


def nbgrader(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    """One of nbgrader's commands in a course folder. It calls programs that lie beside Python."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PATH": beside},
        check=False,  # it returns 1 when one notebook of the class could not be graded
        capture_output=True,
        text=True,
    )


def by_nbgrader(root: Path, exercise: str) -> dict:
    """The time of nbgrader's autograde, and how many notebooks it left graded."""
    started = time.perf_counter()
    done = nbgrader(root, "autograde", exercise)
    seconds = time.perf_counter() - started
    graded = len(list(root.glob(f"autograded/*/{exercise}/*.ipynb")))
    if not graded:
        sys.exit(f"nbgrader graded nothing:\n{done.stderr[-2000:]}")
    return {"grader": "nbgrader autograde", "seconds": round(seconds, 1), "results": graded}


def by_batch(root: Path) -> dict:
    """The time of batch, and how many submissions have a mark."""
    results = root / "results"
    command = [sys.executable, "-m", "autograder", "batch", str(root / "submitted")]
    started = time.perf_counter()
    subprocess.run(
        [*command, "--results", str(results), "--seed", "1"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    seconds = time.perf_counter() - started
    marks = [json.loads(path.read_text())["points"] for path in results.glob("*/*.json")]
    graded = sum(mark is not None for mark in marks)
    return {"grader": "autograder batch", "seconds": round(seconds, 1), "results": graded}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--exercise", default="04_first_kernels")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "class_of_100.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_class(root, given.exercise, given.students, given.seed)
        rows = []
        for row in (by_batch(root), by_nbgrader(root, given.exercise)):
            print(row, flush=True)
            rows.append(row | {"seconds_each": round(row["seconds"] / given.students, 2)})
    batch, plain = rows
    write(
        given.output,
        rows,
        students=given.students,
        exercise=given.exercise,
        cores=len(os.sched_getaffinity(0)),
        commit=commit(),
        times_faster=round(plain["seconds"] / batch["seconds"], 1),
    )
    print(f"batch is {plain['seconds'] / batch['seconds']:.1f} times faster")


if __name__ == "__main__":
    main()
