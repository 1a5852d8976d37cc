"""Does a verdict on speed flip? Right kernels, graded 100 times a little above their threshold and below.

    python benchmarks/regrades.py [--times 100] [--first 5] [--shard I/N] [--output FILE]

Each kernel is measured `--first` times. The median of its ratios to the library gives two thresholds:
one that it exceeds by 15% and must always reach, and one that it misses by 15% and must never reach.
Then its speed is graded again and again, in turns with the others, so that all see the same hours.
Every grading is a new contest; what it measured is judged by both thresholds, since a threshold
changes nothing in how it is measured. Can be interrupted and goes on; the record holds what was
graded until then. Ends with 1 after a flip. Several GPUs: once with `--times 0`, then N side by side,
each with a GPU and a shard of its own, then once without a shard.
"""

import argparse
import statistics
import sys
from collections import Counter
from pathlib import Path

from recording import MEASUREMENTS, ROOT, write
from resumable import ALL, BUILD, Journal, bar, commit, engine, key, shard

sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from corpus_files import Entry, entries

from autograder import course
from autograder.gpu import has_gpu
from autograder.sandbox import Sandbox
from autograder.speed import grade
from autograder.submission import read

JOURNAL = BUILD / "regrades.jsonl"
KERNELS = ("softmax/one_program_per_row", "transpose/tl_trans", "triton_matmul/tiles_of_64")
# How a kernel's speed stands to the threshold of a series, and the verdict that is due.
MARGINS = {"15% above": (1.15, "passed"), "15% below": (0.85, "failed")}


def kernels() -> dict[str, Entry]:
    """The corpus files of KERNELS by name."""
    found = {f"{e.step}/{e.path.stem}": e for e in entries("honest")}
    return {name: found[name] for name in KERNELS}


def regrade(entry: Entry, limits: dict[str, float], sandbox: Sandbox) -> dict[str, dict]:
    """One contest of a kernel: what it comes to by each of some named thresholds."""
    submission, step = read(entry.path), course.find_step(entry.step)
    timing = grade.timed(submission, step, sandbox)
    found = {}
    for name, threshold in limits.items():
        check, measured = grade.verdict(submission, step, timing, threshold)
        # Without a time where it was refused, or ended before there was one.
        ratio = measured["ratio"] if measured else None
        found[name] = {"status": check.status, "ratio": ratio, "message": check.message}
    return found


def thresholds(ratios: list[float]) -> dict[str, float]:
    """The threshold of each series, from the first ratios that were measured of a kernel."""
    usual = statistics.median(ratios)
    return {name: round(usual / margin, 4) for name, (margin, _) in MARGINS.items()}


def run(todo: list[tuple[str, Entry, dict[str, float]]], journal: Journal, title: str) -> None:
    """Grades what is not known yet: (key, kernel, its thresholds) each."""
    left, sources = [piece for piece in todo if journal.get(piece[0]) is None], commit()
    with Sandbox(gpu=True) as sandbox, bar(title, len(left)) as done:
        for k, entry, limits in left:
            journal.add(k, found=regrade(entry, limits, sandbox), commit=sources)
            done(entry.name)


def row(kernel: str, series: str, threshold: float, graded: list[dict]) -> dict:
    """One series: how its gradings ended, and every ratio."""
    due = MARGINS[series][1]
    ends = Counter(g["status"] for g in graded)
    ratios = [g["ratio"] for g in graded if g["ratio"] is not None]
    return {
        "kernel": kernel,
        "speed": series,
        "threshold_ratio": threshold,
        "gradings": len(graded),
        "due": due,
        **{status: ends.pop(status, 0) for status in ("passed", "failed", "refused")},
        "too_noisy": ends.pop("not_measured", 0),
        "other": ends.total(),
        "lowest": min(ratios, default=None),
        "highest": max(ratios, default=None),
        "ratios": ratios,
        "messages": sorted({g["message"] for g in graded if g["status"] != due}),
    }


def flips(found: dict) -> int:
    """Gradings of a series that ended with another verdict than is due; too noisy is none."""
    return found["gradings"] - found[found["due"]] - found["too_noisy"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--first", type=int, default=5, help="measurements that set the thresholds")
    parser.add_argument("--shard", type=shard, default=ALL, metavar="I/N", help="one grading in N")
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "regrades.json")
    given = parser.parse_args()
    if not has_gpu():
        sys.exit("regrades: there is no GPU here, and only on one is speed graded")
    journal, files = Journal(JOURNAL), kernels()
    about = {
        n: key(n, e.path.read_text(), engine(course.find_step(e.step))) for n, e in files.items()
    }
    none = {"none": 0.0}
    first = {n: [f"{about[n]}-first-{i}" for i in range(given.first)] for n in files}
    run([(k, files[n], none) for n in files for k in first[n]], journal, "first")
    known = {n: [e["found"]["none"] for k in first[n] if (e := journal.get(k))] for n in files}
    measured = {n: [found["ratio"] for found in known[n]] for n in files}
    if any(len(r) < given.first or None in r for r in measured.values()):
        told = {n: [found["message"] for found in known[n]] for n in files}
        sys.exit(f"regrades: a kernel was not measured, and nothing was graded: {told}")
    limits = {n: thresholds(measured[n]) for n in files}
    keys = {n: f"{about[n]}-{'-'.join(map(str, limits[n].values()))}-" for n in files}
    todo = [(f"{keys[n]}{i}", files[n], limits[n]) for i in range(given.times) for n in files]
    run(todo[given.shard], journal, "regrades")
    graded = {n: [e["found"] for e in journal.of(keys[n])] for n in files}
    rows = [
        row(n, series, limits[n][series], [found[series] for found in graded[n]])
        for n in files
        for series in MARGINS
    ]
    write(given.output, rows, first=measured)
    for found in rows:
        print(
            f"{found['kernel']:30} {found['speed']}: {found['gradings']} gradings, "
            f"{flips(found)} flips, {found['too_noisy']} too noisy"
        )
    sys.exit(1 if any(map(flips, rows)) else 0)


if __name__ == "__main__":
    main()
