"""A class graded through Dask: the same results, whatever of the cluster is lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask_jobqueue
import distributed
import pytest
import stand_in
from class_files import good_class
from click.testing import CliRunner
from dask_jobqueue.local import LocalCluster
from seeds import SEED

from autograder import cli, course
from autograder.batch import cluster, plan, record
from autograder.sandbox import WorkerError
from autograder.submission import BadInput

EXPECTED = {
    "anna": ("graded", 12.0),
    "ben": ("graded", 0.0),
    "cleo": ("graded", 9.0),
    "finn": ("crashed", 0.0),
}
STAND_IN = dict.fromkeys(EXPECTED, ("graded", 1.0))


def graded(planned: plan.Plan) -> dict[str, tuple[str, float | None]]:
    found = {job.student: planned.known(job) for job in planned.jobs}
    return {s: (r.state, r.points) for s, r in found.items() if r is not None}


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """A class whose files can all be graded."""
    # For the processes that Dask starts.
    monkeypatch.setenv("PYTHONPATH", f"{course.ROOT}{os.pathsep}{Path(__file__).parent}")
    folder = good_class(tmp_path / "class")
    for student in folder.iterdir():
        if student.name not in EXPECTED:
            shutil.rmtree(student)
    return plan.make(folder, tmp_path / "results", SEED, 10.0, True)


@pytest.fixture
def no_grading(monkeypatch):
    """For tests that are about Dask alone: to start a grader costs more than the rest of them."""
    monkeypatch.setattr(cluster, "supervise", stand_in.supervise)


def test_without_dask_the_command_says_how_to_get_it(planned, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadInput, match=r"needs Dask: pip install 'autograder\[dask\]'"):
        cluster.grade(planned, planned.jobs, "local", 1, lambda *_: None)


def test_a_task_that_is_repeated_finds_its_result(planned, monkeypatch):
    [job, *_] = planned.jobs
    fields = {"state": "graded", "basis": planned.basis(job), "max_points": 12, "points": 5.0}
    kept = record.Record(job.student, job.exercise, job.file, **fields)
    record.save(planned.path_of(job), kept)
    monkeypatch.setattr(cluster, "Grader", lambda: pytest.fail("graded twice"))
    assert cluster.supervise(planned.order(job)) == "graded"
    assert planned.known(job).points == 5.0


def test_a_machine_that_does_not_see_the_class_says_so(planned):
    order = planned.order(planned.jobs[0]) | {"folder": "/not/here"}
    with pytest.raises(WorkerError, match="must share the file system"):
        cluster.supervise(order)


def test_a_dask_worker_killed_in_the_middle_costs_only_time(planned):
    heard = {}
    options = {"threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(n_workers=2, **options) as two:

        def kill_one(job, state):
            if not heard:
                os.kill(next(iter(two.workers.values())).pid, signal.SIGKILL)
            heard[job.student] = state

        cluster.grade(planned, planned.jobs, two.scheduler_address, 2, kill_one)
    assert graded(planned) == EXPECTED
    assert heard == {student: state for student, (state, _) in EXPECTED.items()}


def test_the_command_starts_a_cluster_on_this_machine(no_grading, planned):
    given = [str(planned.folder), "--results", str(planned.results), "--seed", str(SEED)]
    done = CliRunner().invoke(cli.main, ["batch", *given, "--scheduler", "local", "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert f"{len(EXPECTED)} graded" in done.output
    assert graded(planned) == STAND_IN


def test_a_lost_scheduler_ends_the_run_and_no_finished_result(no_grading, planned, tmp_path):
    address = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(address)]
    parts = [["scheduler", "--port", "0", "--no-dashboard"], ["worker", "--nthreads", "1", "--no-dashboard"]]  # fmt: skip
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *part, *common],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
        )
        for part in parts
    ]
    try:
        heard = []

        def kill_the_scheduler(job, state):
            heard.append(job.student)
            if len(heard) == 2:
                running[0].kill()

        with pytest.raises(BadInput, match="lost on the way; the same command goes on"):
            cluster.grade(planned, planned.jobs, _address(address), 1, kill_the_scheduler)
    finally:
        for process in running:
            process.kill()
            process.wait()
    found = graded(planned)
    assert set(heard) <= found.keys() < EXPECTED.keys()
    assert found.items() <= STAND_IN.items()


def _address(file: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return json.loads(file.read_text())["address"]
        except (OSError, ValueError):
            time.sleep(0.05)
    raise TimeoutError("the scheduler did not start")


def test_an_address_where_nobody_listens_is_one_line(planned, monkeypatch):
    monkeypatch.setattr(cluster, "REACH_SECONDS", 1)
    with pytest.raises(BadInput, match="cannot be reached"):
        cluster.grade(planned, planned.jobs, "tcp://127.0.0.1:1", 1, lambda *_: None)
    with pytest.raises(BadInput, match="cannot be reached"):
        cluster.grade(planned, planned.jobs, "no such thing", 1, lambda *_: None)


def test_jobs_of_a_batch_system_grade_the_class(no_grading, planned, monkeypatch):
    """dask-jobqueue's own stand-in for Slurm, which runs each job script in a shell."""
    options = {"cores": 1, "memory": "2GB"}
    monkeypatch.setattr(dask_jobqueue, "SLURMCluster", lambda: LocalCluster(**options))
    cluster.grade(planned, planned.jobs, "slurm", 1, lambda *_: None)
    assert graded(planned) == STAND_IN
