"""Does a cheat at the clock get through? The check of speed alone judges every file of `clock`, on a GPU.

    python benchmarks/clock_cheats.py [--output FILE]

Nothing but that check runs: that the files are right at every size that is not timed is the corpus
test's to show, and a file that another check refuses would prove nothing here. Can be interrupted and
goes on. Ends with 1 if a cheat passed, or ended in another way than its header says: then its trick
may not have run.
"""

import argparse
import hashlib
import sys
import time
from collections import Counter
from pathlib import Path

from recording import MEASUREMENTS, ROOT, write
from resumable import BUILD, Journal, bar, commit, engine, key

sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from corpus_files import Entry, entries

from autograder import course
from autograder.gpu import has_gpu
from autograder.sandbox import Sandbox
from autograder.speed.grade import speed_check
from autograder.submission import read

JOURNAL = BUILD / "clock_cheats.jsonl"


def digest(entry: Entry) -> str:
    """What a record knows a file by, beside its name."""
    return hashlib.sha256(entry.path.read_bytes()).hexdigest()[:16]


def judge(entry: Entry, sandbox: Sandbox) -> dict:
    """One row of the record: what the check of speed says of a file."""
    started = time.monotonic()
    check, performance = speed_check(read(entry.path), course.find_step(entry.step), sandbox)
    return {
        "file": entry.name,
        "sha256": digest(entry),
        "status": check.status,
        "expected": check.status in entry.timed,
        "message": check.message,
        "performance": performance,
        "seconds": round(time.monotonic() - started, 1),
    }


def run() -> list[dict]:
    """A row for every file of `clock` that is judged by the end, in the order of the corpus."""
    journal, files, sources = Journal(JOURNAL), entries("clock"), commit()
    keys = {e.name: key(e.name, digest(e), engine(course.find_step(e.step))) for e in files}
    todo = [entry for entry in files if journal.get(keys[entry.name]) is None]
    with Sandbox(gpu=True) as sandbox, bar("clock cheats", len(todo)) as done:
        for entry in todo:
            journal.add(keys[entry.name], **judge(entry, sandbox), commit=sources)
            done(entry.name)
    found = (journal.get(keys[entry.name]) for entry in files)
    return [{name: row[name] for name in row if name != "key"} for row in found if row]


def troubles(rows: list[dict]) -> list[str]:
    """A line for each cheat that passed, and for each that ended otherwise than its header says."""
    found = []
    for row in rows:
        if row["status"] == "passed":
            found.append(f"{row['file']} got through: {row['message']}")
        elif not row["expected"]:
            found.append(
                f"{row['file']}: {row['status']}, not as its header says: {row['message']}"
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "clock_cheats.json")
    given = parser.parse_args()
    if not has_gpu():
        sys.exit("clock_cheats: there is no GPU here, and only on one does a clock decide")
    rows = run()
    if len(rows) < len(entries("clock")):
        sys.exit("clock_cheats: interrupted; nothing was recorded")
    statuses = dict(Counter(row["status"] for row in rows))
    commits = dict(Counter(row.pop("commit") for row in rows))
    write(given.output, rows, statuses=statuses, commits=commits)
    print(*troubles(rows), f"{len(rows)} files: {statuses}", sep="\n")
    sys.exit(1 if troubles(rows) else 0)


if __name__ == "__main__":
    main()
