"""The corpora on a GPU: the same verdicts as in the interpreter? Where not, why not?

    python benchmarks/gpu_corpus.py [--jobs N] [--sample N] [--seed S] [--output FILE]

Grades every file whose step runs on a GPU, without speed, in N processes side by side. A verdict
that is not the recorded one (triton_versions.json, for this Triton) is looked into at once: the file
is graded in the interpreter as well, and a rule of differences.py must say why the two differ.
`--sample N` takes one file in N, by a hash of its name, where time is short. Can be interrupted and
goes on; the record holds what was graded until then. Ends with 1 if a difference is not explained.

Takes about 8 s a file, however many processes there are: every case starts a context of its own, and
the driver starts one after the other.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from corpus_run import Entry, entry_key
from differences import UNEXPLAINED, WHYS, why
from recording import MEASUREMENTS, ROOT, write
from resumable import BUILD, Journal, bar, commit, shard

sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from corpus_files import entries, left_behind, verdict, why_not_here
from seeds import SEED

from autograder import course, grading
from autograder.gpu import has_gpu
from autograder.sandbox import Sandbox
from autograder.submission import read

JOURNAL = BUILD / "gpu_corpus.jsonl"
TOLD = 600  # characters of a message that the journal keeps


def files(every: int) -> list[Entry]:
    """Those corpus files whose kernels run on a GPU; of a sample, one in so many."""
    found = [e for e in entries() if course.find_step(e.step).task.kernel]
    return [e for e in found if int(hashlib.sha256(e.name.encode()).hexdigest(), 16) % every == 0]


def judged(entry: Entry, sandbox: Sandbox, seed: int) -> dict:
    """The verdict on a file as a dict, with the checks that failed."""
    settings = grading.Settings(seed, speed=False, at_once=1)
    step = course.find_step(entry.step)
    result = grading.grade_step(read(entry.path), step, sandbox, settings, lambda *_: None)
    found = asdict(verdict(entry, result))
    if entry.family == "hostile" and left_behind(sandbox.gpu or sandbox):
        found["expected"] = False
    found["failed"] = [
        {
            "check": check.name,
            "kind": check.kind,
            "status": check.status,
            "dtype": check.case.get("dtype", ""),
            "message": check.message[:TOLD],
        }
        for check in result.failed
    ]
    return found | {"seconds": round(result.seconds, 1)}


def recorded() -> dict[str, str]:
    """File → "status cause" in the interpreter, with the Triton of this process."""
    runs = json.loads((MEASUREMENTS / "triton_versions.json").read_text(encoding="utf-8"))["rows"]
    here = metadata.version("triton").split(".")[:2]
    return next((run["verdicts"] for run in runs if run["triton"].split(".")[:2] == here), {})


def short(found: dict) -> str:
    """A verdict as `recorded` has it."""
    return f"{found['status']} {found['cause']}".strip()


def grade(part: list[Entry], seed: int) -> None:
    """Grades files on the GPU that are not graded yet; in the interpreter, those that differ."""
    journal, known, sources = Journal(JOURNAL), recorded(), commit()
    with Sandbox(gpu=True) as sandbox, Sandbox() as interpreter:
        here = [entry for entry in part if not why_not_here(entry, sandbox)]
        todo = [(k, e) for e in here if journal.get(k := entry_key(e, seed)) is None]
        with bar("corpus", len(todo)) as done:
            for k, entry in todo:
                found = judged(entry, sandbox, seed)
                same = known.get(entry.name) == short(found)
                there = None if same else judged(entry, interpreter, seed)
                journal.add(
                    k, file=entry.name, corpus=entry.family, gpu=found, there=there, commit=sources
                )
                done(entry.name)


def side_by_side(jobs: int, sample: int, seed: int) -> None:
    """Runs this program once for each shard. Only the first one's progress is shown: it is like all."""
    command = [sys.executable, __file__, "--sample", str(sample), "--seed", str(seed), "--shard"]
    shards = [
        subprocess.Popen([*command, f"{i}/{jobs}"], stderr=subprocess.DEVNULL if i else None)
        for i in range(jobs)
    ]
    try:
        for process in shards:
            process.wait()
    except KeyboardInterrupt:
        for process in shards:
            process.terminate()  # what each has graded is kept
        for process in shards:
            process.wait()


def row(known: dict) -> dict:
    """One file of the record: its verdict on the GPU, that of the interpreter, and why they differ."""
    gpu, there = known["gpu"], known["there"] or known["gpu"]
    found = {name: gpu[name] for name in ("status", "cause", "kinds", "expected", "seconds")}
    found = {"file": known["file"], "corpus": known["corpus"], **found}
    differs = short(there) != short(gpu)
    ieee = course.find_step(known["file"].partition("/")[0]).task.ieee
    return found | {
        "interpreter": short(there),
        "why": why(known["corpus"], gpu, there, ieee) if differs else "",
        "failed": gpu["failed"] + there["failed"] if differs else [],
    }


def summary(rows: list[dict]) -> dict:
    """How many verdicts are the same, how many differ for which reason, and the files of the others."""
    reasons = Counter(r["why"] for r in rows if r["why"])
    return {
        "same": sum(not r["why"] for r in rows),
        "explained": {n: {"files": reasons[n], "why": WHYS[n]} for n in WHYS if reasons[n]},
        "unexplained": [r["file"] for r in rows if r["why"] == UNEXPLAINED],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="one file in N")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--shard", type=shard, metavar="I/N", help="only grade, one file in N")
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "gpu_corpus.json")
    given = parser.parse_args()
    if not has_gpu():
        sys.exit("gpu_corpus: there is no GPU here")
    sampled = files(given.sample)
    if given.shard:
        grade(sampled[given.shard], given.seed)
        return
    side_by_side(given.jobs, given.sample, given.seed)
    with Sandbox() as sandbox:
        left_out = {e.name: text for e in sampled if (text := why_not_here(e, sandbox))}
    journal = Journal(JOURNAL)
    known = [journal.get(entry_key(e, given.seed)) for e in sampled if e.name not in left_out]
    graded = [k for k in known if k]
    if not graded:
        sys.exit("gpu_corpus: interrupted before a file was graded, so nothing is recorded")
    rows = [row(k) for k in graded]
    told = summary(rows)
    of_all = {"files": len(rows), "of": len(files(1)), "sample": given.sample}
    of_all |= {"not_yet": len(known) - len(graded)}
    commits = dict(Counter(k["commit"] for k in graded))
    write(given.output, rows, seed=given.seed, **of_all, commits=commits, left_out=left_out, **told)
    print(f"{len(rows)} of {of_all['of']} files graded: {told['same']} as in the interpreter")
    if of_all["not_yet"]:
        print(f"{of_all['not_yet']} files of the sample are left: run it again to go on")
    for name, reason in told["explained"].items():
        print(f"{reason['files']:4} {name}: {reason['why']}")
    print("unexplained:", *(told["unexplained"] or ["none"]), sep="\n  ")
    sys.exit(1 if told["unexplained"] else 0)


if __name__ == "__main__":
    main()
