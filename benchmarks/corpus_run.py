"""Grades the corpora with the Triton of this environment, and keeps every verdict.

    python benchmarks/corpus_run.py [--every N] [--seed S] [--shard I/N]

For corpus_league.py and triton_versions.py, which count what it finds; alone it prints the files that
were not judged as their headers say. It can be interrupted: what each file gave stays in
_build/corpus_run.jsonl, until the file, the part of the grader that decides about it, or a version
changes. Many cores: N of it side by side, each with another shard, before one of the two counts.
"""

import argparse
import datetime
import sys
from dataclasses import asdict

from recording import ROOT
from resumable import ALL, BUILD, Journal, bar, commit, engine, key, shard

sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from corpus_files import Entry, entries, grade, left_behind, verdict, why_not_here
from seeds import SEED

from autograder import course
from autograder.sandbox import Sandbox

JOURNAL = BUILD / "corpus_run.jsonl"


def sample(every: int) -> list[Entry]:
    """Every so-many-th corpus file, in a fixed order; 1 for all."""
    return entries()[::every]


def entry_key(entry: Entry, seed: int) -> str:
    """Changes with the file, with what decides about it, and with the versions of the packages."""
    text = entry.path.read_text(encoding="utf-8")
    return key(entry.name, text, str(seed), engine(course.find_step(entry.step)))


def run(every: int, seed: int, part: slice = ALL) -> tuple[list[dict], dict[str, str]]:
    """What is known after grading whatever was not: (verdicts, file → why it was left out).

    A verdict is a corpus_files.Verdict as a dict, with the file's name, step and kind of corpus.
    `part`: of the files, those to grade and to tell of.
    """
    journal, files = Journal(JOURNAL), sample(every)[part]
    keys = {entry.name: entry_key(entry, seed) for entry in files}
    sources = commit()
    with Sandbox() as sandbox:
        left_out = {e.name: reason for e in files if (reason := why_not_here(e, sandbox))}
        todo = [e for e in files if e.name not in left_out and journal.get(keys[e.name]) is None]
        with bar("corpus", len(todo)) as done:
            for entry in todo:
                result = grade(entry, sandbox, seed)
                found = asdict(verdict(entry, result))
                if entry.family == "hostile" and left_behind(sandbox):
                    found["expected"] = False
                journal.add(
                    keys[entry.name],
                    file=entry.name,
                    step=entry.step,
                    corpus=entry.family,
                    **found,
                    seconds=round(result.seconds, 2),
                    date=datetime.date.today().isoformat(),
                    commit=sources,
                )
                done(entry.name)
    verdicts = [journal.get(key) for key in keys.values()]
    return [v for v in verdicts if v is not None], left_out


def other_than_asked(verdicts: list[dict]) -> list[dict]:
    """The files whose header asks for another verdict."""
    return [v for v in verdicts if not v["expected"]]


def misnamed(verdicts: list[dict]) -> list[dict]:
    """The wrong kernels that were told another cause than theirs."""
    return [v for v in verdicts if v["expected"] and not v["named"]]


def options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds what every program that grades the corpora takes."""
    parser.add_argument("--every", type=int, default=1, help="grade one file in so many")
    parser.add_argument("--seed", type=int, default=SEED)
    return parser


def main() -> None:
    parser = options(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    parser.add_argument("--shard", type=shard, default=ALL, metavar="I/N", help="one file in N")
    given = parser.parse_args()
    verdicts, left_out = run(given.every, given.seed, given.shard)
    for name, reason in left_out.items():
        print(f"left out     {name}: {reason}")
    for v in other_than_asked(verdicts):
        print(f"not as asked {v['file']}: {v['status']}, {v['cause'] or 'no cause'}")
    for v in misnamed(verdicts):
        print(f"misnamed     {v['file']}: {v['cause'] or 'no cause'}")
    print(f"{len(verdicts)} of {len(sample(given.every)[given.shard])} files judged")
    sys.exit(1 if other_than_asked(verdicts) else 0)


if __name__ == "__main__":
    main()
