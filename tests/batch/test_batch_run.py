"""A class graded by the command: every result right, whatever is lost on the way."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest
from class_files import CRASH, EXERCISE, bad_files, good_class, put, results, solved, untouched
from seeds import SEED

from autograder import course
from autograder.batch import plan, record, run
from autograder.gpu import has_gpu
from autograder.sandbox import WorkerError

WORKERS = "1"  # more would start torch more often than this class is worth


def command(folder: Path, *options: str) -> list[str]:
    given = [str(folder), "--workers", WORKERS, "--seed", str(SEED), *options]
    return [sys.executable, "-m", "autograder", "batch", *given]


def finish(folder: Path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        command(folder, *options), cwd=course.ROOT, check=False, capture_output=True, text=True
    )


def states(found: dict[str, dict]) -> dict[str, tuple[str, float | None]]:
    return {Path(p).parts[0]: (r["state"], r["points"]) for p, r in found.items()}


OTHERS = 10  # students who give ten kills something to interrupt


def whole_class(folder: Path) -> dict[str, str]:
    """Good and bad files; returns what bad_files does."""
    good_class(folder)
    for n in range(OTHERS):
        put(folder, f"student {n}", solved() + b"\n" * n)
    nested = b"x = " + b"-" * 200_000 + b"1"  # more than Python can parse, which is worth no point
    put(folder, "ida", nested, f"{EXERCISE}/mine.py")
    return bad_files(folder)


@dataclass(frozen=True)
class Graded:
    """A class graded in one go: its folder, the results' folder, what was said, the words of
    bad_files, and the results as they were then."""

    folder: Path
    kept: Path
    done: subprocess.CompletedProcess
    words: dict[str, str]
    results: dict[str, dict]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "class"
    words = whole_class(folder)
    done, kept = finish(folder), folder.with_name("class-results")
    return Graded(folder, kept, done, words, results(kept))


def test_a_class_is_graded_and_told(undisturbed):
    done = undisturbed.done
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    told = f"{8 + OTHERS} graded, 1 crashed, 2 not submitted, {len(undisturbed.words)} cannot be graded"
    assert told in done.stdout
    assert f"<p>{told}.</p>" in (undisturbed.kept / "summary.html").read_text()


def test_crashed_not_submitted_and_zero_are_told_apart(undisturbed):
    found = states(undisturbed.results)
    for student in ("anna", "dan", "eva", "gül"):
        assert found[student] == ("graded", 12.0)
    assert found["ben"] == ("graded", 0.0)
    assert found["cleo"] == ("graded", 9.0)
    assert found["finn"] == ("crashed", 0.0)
    assert found["hal"] == ("not_submitted", None)
    assert found["ida"] == ("graded", 0.0)


def test_a_bad_file_has_a_result_that_says_so_in_one_sentence(undisturbed):
    for student, sentence in undisturbed.words.items():
        told = [
            r for p, r in undisturbed.results.items() if Path(p).parts[0] == student and r["reason"]
        ]
        assert len(told) == 1, student
        assert told[0]["state"] == "unreadable" and told[0]["points"] is None
        assert sentence in told[0]["reason"]
        assert "\n" not in told[0]["reason"] and "Traceback" not in told[0]["reason"]


def test_a_result_holds_what_grade_writes(undisturbed):
    told = undisturbed.results[f"anna/{EXERCISE}.json"]
    grading = told["grading"]
    assert (grading["schema"], grading["seed"], grading["passed"]) == (1, SEED, True)
    steps = [s["step"] for s in grading["submissions"][0]["steps"]]
    assert steps == [s.name for s in course.STEPS if s.folder == EXERCISE]


def test_a_second_run_grades_nothing_and_one_after_a_change_only_that(undisturbed):
    folder, kept = undisturbed.folder, undisturbed.kept
    before = {p: p.stat().st_mtime_ns for p in kept.rglob("*.json")}
    again = finish(folder)
    assert again.returncode == 0
    assert f"{len(before)} submissions ({len(before)} as they were)" in again.stdout
    assert {p: p.stat().st_mtime_ns for p in kept.rglob("*.json")} == before
    put(folder, "hal", CRASH.encode(), f"{EXERCISE}/mine.py")
    assert finish(folder).returncode == 0
    changed = {p.parent.name for p in kept.rglob("*.json") if p.stat().st_mtime_ns != before[p]}
    assert changed == {"hal"} and states(results(kept))["hal"] == ("crashed", 0.0)


@pytest.mark.slow
def test_killed_and_started_again_it_ends_as_if_undisturbed(undisturbed, tmp_path):
    """Ten times, each time somewhere in what was left; then it may finish."""
    random.seed(SEED)
    folder, expected = tmp_path / "class", undisturbed.results
    whole_class(folder)
    kept = folder.with_name("class-results")
    theirs: list[psutil.Process] = []
    for _ in range(10):
        left = len(expected) - len(list(kept.rglob("*.json")))
        wanted, pause = min(random.randint(0, 2), left - 1), random.random() / 4
        print(f"seed {SEED}: killed {pause:.3f} s after {wanted} of {left} results")
        process = subprocess.Popen(
            command(folder), cwd=course.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while len(expected) - len(list(kept.rglob("*.json"))) > left - wanted:
            if process.poll() is not None:
                break
            time.sleep(0.005)
        time.sleep(pause)
        theirs += psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = results(kept)  # raises for a file that is not whole
        assert {p: found[p] for p in found} == {p: expected[p] for p in found}
    assert finish(folder).returncode == 0
    assert results(kept) == expected
    assert psutil.wait_procs(theirs, timeout=10)[1] == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_the_end_of_a_slurm_job_leave_quietly(tmp_path, sign):
    good_class(tmp_path / "class")
    process = subprocess.Popen(
        command(tmp_path / "class"), cwd=course.ROOT, stderr=subprocess.PIPE, text=True
    )
    first = record.path_of(tmp_path / "class-results", "hal", EXERCISE)  # needs no worker
    while not first.exists():
        time.sleep(0.01)
    time.sleep(0.2)
    theirs = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(sign)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; the same command goes on from here" in said
    assert "Traceback" not in said
    assert psutil.wait_procs(theirs, timeout=10)[1] == []


def test_no_file_of_a_worker_outlives_the_run(tmp_path, monkeypatch):
    """Of the workers' sandboxes: they keep what they need in folders of their own."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    put(tmp_path / "class", "anna", solved())
    assert finish(tmp_path / "class").returncode == 0
    assert list((tmp_path / "tmp").iterdir()) == []


ENDED = """
import json, sys, threading, time
from multiprocessing.connection import Connection
sys.path.insert(0, {root!r})
from autograder.batch import record, worker
from autograder.batch.worker import about_of

class Sandbox:
    closing = threading.Event()
    def close(self):
        self.closing.set()
        time.sleep(1)  # time enough to write what came of it

def grade(order, sandbox, heard):
    heard()
    sandbox.closing.wait()
    return record.Record(**about_of(order), state="crashed")

worker.grade = grade
worker._serve(Connection({fd}), Sandbox())
"""


def test_a_worker_whose_run_is_gone_writes_nothing_more(tmp_path):
    """Its sandbox ends in the middle of a case then, which must not be taken for a crash."""
    put(tmp_path / "class", "anna", solved())
    planned = plan.make(tmp_path / "class", tmp_path / "results", SEED, 10.0, True)
    ours, theirs = socket.socketpair()
    with theirs:
        code = ENDED.format(root=str(course.ROOT), fd=theirs.fileno())
        process = subprocess.Popen([sys.executable, "-c", code], pass_fds=[theirs.fileno()])
    with Connection(ours.detach()) as line:
        line.send_bytes(json.dumps(planned.order(planned.jobs[0])).encode())
        assert json.loads(line.recv_bytes()) == {"at_work": True}
    assert process.wait(30) == 0
    assert not planned.path_of(planned.jobs[0]).exists()


# --- workers that are lost, played by small programs ------------------------------------------

STAND_IN = """
import json, os, sys, time
from multiprocessing.connection import Connection
from pathlib import Path
sys.path.insert(0, {root!r})
from autograder.batch import record
from autograder.batch.worker import about_of
line, tried = Connection({fd}), Path({tried!r})
line.send_bytes(b'{{"ready": true}}')
while True:
    order = json.loads(line.recv_bytes())
    with tried.open("a") as file:
        file.write(order["student"] + "\\n")
    times = tried.read_text().split().count(order["student"])
    {trouble}
    found = record.Record(**about_of(order), state="graded", points=1.0)
    record.save(Path(order["record"]), found)
    line.send_bytes(b'{{"state": "graded"}}')
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Grades a class of four with workers to which something happens; returns what was heard,
    which students were tried how often, and the records."""

    def grade(trouble: str, workers: int = 2):
        folder, tried = tmp_path / "class", tmp_path / "tried"
        for student in ("anna", "ben", "cleo", "dan"):
            put(folder, student, untouched())

        def command(fd: int, gpu: bool) -> list[str]:
            root = str(course.ROOT)
            code = STAND_IN.format(root=root, fd=fd, tried=str(tried), trouble=trouble)
            return [sys.executable, "-c", code]

        monkeypatch.setattr(run, "command", command)
        planned = plan.make(folder, tmp_path / "results", SEED, 10.0, True)
        heard: dict[str, str] = {}
        run.grade(planned, planned.jobs, workers, lambda job, s: heard.update({job.student: s}))
        found = {j.student: record.load(planned.path_of(j)) for j in planned.jobs}
        return heard, Counter(tried.read_text().split()), found

    return grade


def test_a_lost_worker_is_replaced_and_its_submission_tried_again(stand_in):
    heard, tried, found = stand_in(
        "if order['student'] == 'ben' and times == 1: os.kill(os.getpid(), 9)"
    )
    assert set(heard.values()) == {"graded"} and len(heard) == 4
    assert tried == Counter(anna=1, ben=2, cleo=1, dan=1)
    assert {r.state for r in found.values()} == {"graded"}


def test_what_ends_every_worker_costs_one_submission_its_result(stand_in):
    heard, tried, found = stand_in("if order['student'] == 'ben': sys.exit('out of luck')")
    assert heard == {"anna": "graded", "ben": "failed", "cleo": "graded", "dan": "graded"}
    assert tried["ben"] == 2
    assert (found["ben"].state, found["ben"].points) == ("failed", None)
    assert "lost 2 times on it (out of luck)" in found["ben"].reason


def test_a_worker_that_says_nothing_any_more_is_lost(stand_in, monkeypatch):
    monkeypatch.setattr(run, "SILENCE", -8)  # with the 10 s of a case: 2 s
    heard, _, found = stand_in("if order['student'] == 'ben': time.sleep(60)")
    assert heard["ben"] == "failed" and heard["dan"] == "graded"
    assert "it said nothing for 2 s" in found["ben"].reason


def test_a_machine_that_cannot_grade_ends_the_run_with_a_sentence(stand_in):
    with pytest.raises(WorkerError, match="no torch here"):
        stand_in('line.send_bytes(b\'{"broken": "no torch here"}\'); time.sleep(60)')


def test_no_worker_outlives_the_run(stand_in):
    pids = []
    start = run.Grader._start
    try:
        run.Grader._start = lambda self: (start(self), pids.append(self._process.pid))
        stand_in("pass")
    finally:
        run.Grader._start = start
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# --- the command ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nowhere"], "nowhere: no such folder"),
        (["loop"], "loop: no such folder"),
        (["class/anna/file.txt"], "file.txt: not a folder"),
        (["empty"], "no folder in it"),
        (["class", "--shard", "0/4"], "'0/4' is not i/n with i from 1 to n, such as 1/8"),
        (["class", "--shard", "5/4"], "'5/4' is not i/n"),
        (["class", "--shard", "half"], "'half' is not i/n"),
        (["class", "--workers", "0"], "0 is not in the range"),
        (["class", "--results", "class/inside"], "must lie outside the folder"),
        (["class", "--results", "class/anna/file.txt"], "is a file"),
        (["class", "--no-such-option"], "No such option"),
        (["class", "--device", "gpu"], "'gpu' is not one of 'cpu', 'cuda'"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_one_line_and_code_2(autograder, tmp_path, monkeypatch, options, words):
    monkeypatch.setenv("PYTHONPATH", str(course.ROOT))
    (tmp_path / "empty").mkdir()
    put(tmp_path / "class", "anna", solved())
    put(tmp_path / "class", "anna", b"", "file.txt")
    (tmp_path / "loop").symlink_to("loop")
    done = autograder("batch", *options, cwd=tmp_path)
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert "Traceback" not in done.out + done.err
    assert len(done.err.strip().splitlines()) <= 4  # click adds two lines of usage


@pytest.mark.skipif(has_gpu(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_one_line_and_code_2(tmp_path):
    put(tmp_path / "class", "anna", solved())
    done = finish(tmp_path / "class", "--device", "cuda")
    assert done.returncode == 2
    [line] = done.stderr.strip().splitlines()
    assert line.startswith("autograder: --device cuda: no GPU found on ") and line.endswith(
        "; use cpu"
    )


def test_a_worker_is_replaced_where_the_next_class_is_graded_on_another_device(
    tmp_path, monkeypatch
):
    """As on a Dask worker, which keeps its grader from one class to the next."""
    put(tmp_path / "class", "anna", untouched())
    started = []
    usual = run.command
    monkeypatch.setattr(run, "command", lambda fd, gpu: started.append(gpu) or usual(fd, False))
    grader = run.Grader()
    try:
        for gpu in (False, False, True, True, False):
            results = tmp_path / f"results-{len(started)}"
            planned = plan.make(tmp_path / "class", results, SEED, 10.0, False, gpu)
            assert grader.grade(planned.order(planned.jobs[0])) == "graded"
    finally:
        grader.close()
    assert started == [False, True, False]


def test_shards_together_grade_the_class(tmp_path):
    """Of not submitted ones, which need no worker: that each shard takes its part and no other."""
    folder = tmp_path / "class"
    for n in range(7):
        (folder / f"s{n}").mkdir(parents=True)
    put(folder, "zoe", b"", f"{EXERCISE}/a.ipynb")
    put(folder, "zoe", b"", f"{EXERCISE}/b.ipynb")
    kept = tmp_path / "class-results"
    seen: list[set[str]] = []
    for part in (1, 2, 3):
        assert finish(folder, "--shard", f"{part}/3").returncode == 0
        seen.append(states(results(kept)).keys() - set().union(*seen))
    assert [len(s) for s in seen] == [3, 3, 2]
    page = (kept / "summary.html").read_text()
    assert "7 not submitted, 1 cannot be graded." in page
