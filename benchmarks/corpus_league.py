"""The league table of the corpora: how well the grader judges them, and how well a naive test does.

    python benchmarks/corpus_league.py [--every N] [--seed S] [--output FILE]

For each step: wrong kernels killed, and told their cause; honest variants accepted; dishonest ones
refused; hostile ones contained with no process left; cheats at the clock judged without a clock
(clock_cheats.py has one). The naive test (naive_grader.py: one square shape, contiguous,
`torch.allclose`) judges the same files, but for those two kinds and those dishonest ones that attack
what surrounds them: it runs them with nothing in between, so they are never given to it. Can be
interrupted and goes on; nothing is recorded before all files are judged.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from corpus_run import JOURNAL, Entry, misnamed, options, other_than_asked, run, sample
from naive_grader import TESTS
from recording import MEASUREMENTS, write
from resumable import Journal, bar, key
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Column, Table

NAIVE = Path(__file__).parent / "naive_grader.py"


def ask(files: list[tuple[str, Entry]], seed: int, journal: Journal, done) -> None:
    """Gives files to one process of the naive test, and keeps its answers under their keys."""
    with subprocess.Popen(
        [sys.executable, str(NAIVE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tester:
        for k, entry in files:
            asked = {"step": entry.step, "path": str(entry.path), "seed": seed}
            tester.stdin.write(json.dumps(asked) + "\n")
            tester.stdin.flush()
            journal.add(k, file=entry.name, accepted=json.loads(tester.stdout.readline()))
            done(entry.name)


def naive_verdicts(every: int, seed: int) -> dict[str, bool]:
    """File → whether the naive test accepts it, for the files that it may be given."""
    journal = Journal(JOURNAL.with_name("naive_grader.jsonl"))
    about = NAIVE.read_text(encoding="utf-8")
    files = {
        key(about, e.path.read_text(encoding="utf-8"), str(seed), sys.version, version("triton")): e
        for e in sample(every)
        if e.step in TESTS and e.family not in ("hostile", "clock") and not e.needs
    }
    todo = [(k, e) for k, e in files.items() if journal.get(k) is None]
    cores = len(os.sched_getaffinity(0))
    with bar("naive test", len(todo)) as done, ThreadPoolExecutor(cores) as pool:
        parts = [pool.submit(ask, todo[i::cores], seed, journal, done) for i in range(cores)]
        for part in parts:
            part.result()
    found = {e.name: journal.get(k) for k, e in files.items()}
    return {name: known["accepted"] for name, known in found.items() if known}


def table(verdicts: list[dict], naive: dict[str, bool]) -> list[dict]:
    """A row for each step: for each corpus `files` and those judged rightly, and the same for the
    files that the naive test was given. A wrong kernel is judged rightly when it is not passed."""
    steps: dict[str, dict] = {}
    for v in verdicts:
        row = steps.setdefault(v["step"], {"step": v["step"]})
        cell = row.setdefault(v["corpus"], Counter())
        passed, asked = v["status"] == "passed", v["corpus"] == "honest"
        by_value = v["corpus"] in ("wrong", "honest")
        right = passed == asked if by_value else v["expected"]
        cell.update(files=1, right=int(right))
        if v["corpus"] == "wrong":
            cell.update(named=int(right and v["named"]))
        if v["file"] in naive:
            cell.update(naive_files=1, naive_right=int(naive[v["file"]] == asked))
    return list(steps.values())


def seen_by(verdicts: list[dict]) -> dict[str, int]:
    """How many wrong kernels failed checks of which kinds: "correctness + memory" → 12."""
    kinds = Counter(" + ".join(v["kinds"]) for v in verdicts if v["corpus"] == "wrong")
    return dict(sorted(kinds.items(), key=lambda item: -item[1]))


def show(rows: list[dict]) -> None:
    """The league table on a terminal: files judged rightly, of all."""
    names = ("wrong", "named", "honest", "dishon.", "hostile", "naive wrong", "honest", "dishon.")
    shown = Table(
        Column("step", no_wrap=True), *names, box=SIMPLE, pad_edge=False, collapse_padding=True
    )

    def share(row: dict, corpus: str, right: str = "right", files: str = "files") -> str:
        cell = row.get(corpus, {})
        return f"{cell.get(right, 0)}/{cell[files]}" if cell.get(files) else "–"

    naive = ("naive_right", "naive_files")
    for row in [*rows, total(rows)]:
        shown.add_row(
            row["step"],
            share(row, "wrong"),
            share(row, "wrong", "named"),
            *(share(row, corpus) for corpus in ("honest", "dishonest", "hostile")),
            *(share(row, corpus, *naive) for corpus in ("wrong", "honest", "dishonest")),
        )
    Console().print(shown)


def total(rows: list[dict]) -> dict:
    """The sums of all rows, as a row."""
    sums: dict = {"step": "all"}
    for row in rows:
        for corpus, cell in row.items():
            if corpus != "step":
                sums.setdefault(corpus, Counter()).update(cell)
    return sums


def main() -> None:
    parser = options(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "corpus_league.json")
    given = parser.parse_args()
    verdicts, left_out = run(given.every, given.seed)
    if len(verdicts) + len(left_out) < len(sample(given.every)):
        sys.exit("corpus_league: interrupted; nothing was recorded")
    rows = table(verdicts, naive_verdicts(given.every, given.seed))
    show(rows)
    told = {
        "seed": given.seed,
        "commits": dict(Counter(v["commit"] for v in verdicts)),
        "seen_by": seen_by(verdicts),
        "left_out": left_out,
        "not_as_asked": [_short(v) for v in other_than_asked(verdicts)],
        "misnamed": [_short(v) for v in misnamed(verdicts)],
    }
    for name in ("left_out", "not_as_asked", "misnamed"):
        print(f"{name}: {json.dumps(told[name], indent=1)}")
    write(given.output, rows, **told)
    sys.exit(1 if told["not_as_asked"] else 0)


def _short(v: dict) -> dict:
    return {name: v[name] for name in ("file", "status", "cause")}


if __name__ == "__main__":
    main()
