"""Grades every reference solution with many seeds: each refusal would be one of a right kernel.

    python benchmarks/false_refusals.py [--seeds 200] [--step NAME]... [--shard I/N] [--output FILE]

Takes hours on two cores, and can be interrupted at any time: it goes on where it stopped, and the
record holds what has been graded until then. `--seeds 0` grades nothing and only writes it. With many
cores N of it may run side by side, each with another shard of the seeds. Keeps what each piece gave in _build/false_refusals.jsonl. A step is graded anew when its solution changes,
or a part of the grader that can refuse it.

The compile check sees shapes and layouts, never values, so it is asked once for each description of
the first case and its answer is used for every seed with the same one.
"""

import argparse
import ast
import datetime
import json
import sys
from collections import Counter
from pathlib import Path

from recording import MEASUREMENTS, ROOT, write
from resumable import AFTER_THE_VERDICT, ALL, BUILD, Journal, bar, commit, engine, key, shard

sys.path.insert(0, str(ROOT))
from autograder import compile_check, course, grading
from autograder.arena import Arena
from autograder.sandbox import Sandbox
from autograder.submission import Submission, read

JOURNAL = BUILD / "false_refusals.jsonl"
TIMEOUT = 120.0  # seconds for one case: this machine may do other work meanwhile


def solution(step: course.Step) -> Submission:
    """The file that the reference solution of a step stands in."""
    return read(ROOT / "solutions" / f"{step.folder}.py")


def step_key(step: course.Step, submission: Submission) -> str:
    """Changes with the solution's code, but not with its comments, and with what decides on it."""
    code = "\n".join(ast.unparse(s.node) for s in submission.slice_for(step.name))
    return key(step.name, code, engine(step, without=AFTER_THE_VERDICT))


def compile_once(compile_step):
    """`compile_check.compile_step` with a memory for what the compiler is told."""
    answers = {}

    def compiled(submission, function, case, target, compiler):
        with Arena(case) as arena:
            told = (str(submission.path), function, json.dumps(arena.describe()), target.name)
        if told not in answers:
            answers[told] = compile_step(submission, function, case, target, compiler)
        return answers[told]

    return compiled


def grade(steps: list[course.Step], seeds: range, journal: Journal, sandbox: Sandbox) -> None:
    """Grades what is not known yet, seed by seed, so that all steps come equally far."""
    submissions = {step.name: solution(step) for step in steps}
    keys = {step.name: step_key(step, submissions[step.name]) for step in steps}
    todo = [
        (seed, step)
        for seed in seeds
        for step in steps
        if journal.get(f"{keys[step.name]}-{seed}") is None
    ]
    sources, usual = commit(), compile_check.compile_step
    compile_check.compile_step = compile_once(usual)
    with bar("gradings", len(todo)) as done:
        for seed, step in todo:
            submission, settings = submissions[step.name], grading.Settings(seed, TIMEOUT, False)
            result = grading.grade_step(submission, step, sandbox, settings, lambda *_: None)
            journal.add(
                f"{keys[step.name]}-{seed}",
                step=step.name,
                seed=seed,
                refusals=[f"{c.name}: {c.status}: {c.message}" for c in result.failed],
                not_measured=sum(c.status == "not_measured" for c in result.checks),
                checks=len(result.checks),
                seconds=round(result.seconds, 2),
                date=datetime.date.today().isoformat(),
                commit=sources,
            )
            done(f"seed {seed}, {step.name}")
    compile_check.compile_step = usual


def summary(step: course.Step, graded: list[dict]) -> dict:
    """One row of the record: how often a step was graded, and every refusal."""
    dates = sorted(entry["date"] for entry in graded)
    return {
        "step": step.name,
        "seeds": len(graded),
        "checks": sum(entry["checks"] for entry in graded),
        "not_measured": sum(entry["not_measured"] for entry in graded),
        "refused": sum(bool(entry["refusals"]) for entry in graded),
        "refusals": [
            {"seed": entry["seed"], "checks": entry["refusals"]}
            for entry in graded
            if entry["refusals"]
        ],
        "first": dates[0] if dates else "",
        "last": dates[-1] if dates else "",
        "commits": dict(Counter(entry["commit"] for entry in graded)),
    }


def rows(steps: tuple[course.Step, ...], journal: Journal) -> list[dict]:
    """A row for each step, from what is known about it as it is now."""
    return [summary(step, journal.of(step_key(step, solution(step)))) for step in steps]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--step", action="append", choices=[s.name for s in course.STEPS])
    parser.add_argument("--shard", type=shard, default=ALL, metavar="I/N", help="one seed in N")
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "false_refusals.json")
    options = parser.parse_args()
    journal = Journal(JOURNAL)
    wanted = [s for s in course.STEPS if not options.step or s.name in options.step]
    with Sandbox() as sandbox:
        grade(wanted, range(1, options.seeds + 1)[options.shard], journal, sandbox)
    found = rows(course.STEPS, journal)
    write(
        options.output,
        found,
        compile_check="once for each description of shapes and layouts, for all seeds",
        seconds_for_one_case=TIMEOUT,
    )
    for row in found:
        print(f"{row['step']:20} {row['seeds']:4} seeds, {row['refused']} refused")
    sys.exit(1 if any(row["refused"] for row in found) else 0)


if __name__ == "__main__":
    main()
