"""`autograder batch`: plans, grades what is not done, and writes the summary. Returns the exit code.

0 when every submission has its result, whatever the marks; 1 when the grader itself failed on one; 2
when something given cannot be used, which the command line reports.
"""

import os
import signal
from collections import Counter
from pathlib import Path

import click

from autograder.batch import page, plan, run
from autograder.batch.page import WORDS
from autograder.files import write_whole
from autograder.report import terminal
from autograder.submission import BadInput

INTERRUPTED = 128 + signal.SIGINT


def run_batch(
    folder: Path,
    workers: int | None,
    scheduler: str | None,
    shard: tuple[int, int] | None,
    results: Path | None,
    device: str,
    speed: bool,
    seed: int | None,
    timeout: float,
) -> int:
    """Grades a class, with the options of the command line."""
    folder = Path(os.path.realpath(folder))
    results = results or folder.with_name(f"{folder.name}-results")
    workers = workers or len(os.sched_getaffinity(0))
    planned = plan.make(folder, results, seed, timeout, speed, device == "cuda")
    mine = plan.shard(planned.jobs, *shard) if shard else planned.jobs
    todo = planned.todo(mine)
    # A batch system that wants its machine back sends SIGTERM.
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        left = run.settle(planned, todo)
        with terminal.class_progress(len(left)) as done:
            _grade(planned, left, scheduler, workers, done)
    except KeyboardInterrupt:
        click.echo("autograder: interrupted; the same command goes on from here", err=True)
        return INTERRUPTED
    except OSError as error:
        raise BadInput(f"--results {results}: cannot be written ({error.strerror})") from None
    finally:
        signal.signal(signal.SIGTERM, usual)
    return _tell(planned, mine, len(mine) - len(todo))


def _grade(planned, jobs, scheduler, workers, done) -> None:
    if not jobs:
        return

    def heard(job: plan.Job, state: str) -> None:
        done(f"{job.student}, {job.exercise}: {WORDS[state]}")

    if scheduler is None:
        run.grade(planned, jobs, workers, heard)
    else:
        from autograder.batch import cluster

        cluster.grade(planned, jobs, scheduler, workers, heard)


def _tell(planned: plan.Plan, mine: list[plan.Job], known: int) -> int:
    """Writes the summary and says what there is."""
    summary = planned.results / "summary.html"
    found = {job: planned.known(job) for job in planned.jobs}  # by the other shards, too
    try:
        write_whole(summary, page.summary(planned, found).encode())
    except OSError as error:
        raise BadInput(f"{summary}: cannot be written ({error.strerror})") from None
    states = Counter(found[job].state if found[job] else "pending" for job in mine)
    told = ", ".join(f"{states[s]} {WORDS[s]}" for s in WORDS if states[s])
    click.echo(f"{len(mine)} submissions ({known} as they were): {told}")
    click.echo(f"summary: {summary}")
    return 1 if states["failed"] + states["pending"] else 0
