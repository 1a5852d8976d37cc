"""Sees to it that every submission of a plan gets its result file, with workers on this machine.

A worker is a process that can be lost: it is replaced, and its submission tried once more. Must never
grade in this process, and never end for anything that a submission does.
"""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from autograder.batch import record
from autograder.batch.plan import Job, Plan
from autograder.batch.record import Record
from autograder.batch.worker import about_of
from autograder.grading import GPU_START
from autograder.sandbox import GRACE_SECONDS, START_SECONDS, WorkerError

ATTEMPTS = 2
# Seconds without a word after which a worker counts as lost: a case, a sandbox started twice.
SILENCE = 2 * (START_SECONDS + GRACE_SECONDS)
END_SECONDS = 6  # for a worker to end its sandbox, which may just be loading torch


def command(fd: int, gpu: bool) -> list[str]:
    """What starts a worker that serves the socket `fd`; `gpu`: one that runs kernels on a GPU."""
    root = str(Path(__file__).resolve().parents[2])
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        f"from autograder.batch.worker import main; main({fd}, {gpu})"
    )
    # -P: the working folder may be the class, and a student's folder be named like a module.
    return [sys.executable, "-P", "-c", code]


class _Lost(Exception):
    """The worker ended or hangs; why, as far as it is known."""


class Grader:
    """A worker process under supervision, started when there is something to grade."""

    def __init__(self):
        self._process: subprocess.Popen | None = None
        self._gpu = False  # whether that process runs kernels on a GPU
        self._over = False

    def grade(self, order: dict) -> str:
        """Grades a submission and returns the state that its result file then holds.

        Raises WorkerError when no submission can be graded on this machine.
        """
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                return self._attempt(order)
            except _Lost as error:
                if self._over:
                    raise
                reason = str(error)
                self._end(0)
        text = f"the grader's process was lost {ATTEMPTS} times on it ({reason}); please report this"  # fmt: skip
        record.save(Path(order["record"]), Record(**about_of(order), state="failed", reason=text))
        return "failed"

    def close(self) -> None:
        """Ends the worker and all that belongs to it, in the middle of a submission, too."""
        self._over = True
        self._end(END_SECONDS)

    def _end(self, seconds: float) -> None:
        """Asks the worker to end, so that it removes its files; kills what is left after that."""
        if self._process is not None:
            self._line.shutdown(socket.SHUT_RDWR)
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass
            self._kill()
            self._process.wait()
            self._connection.close()
            self._line.close()
            self._stderr.close()
            self._process = None

    def _attempt(self, order: dict) -> str:
        gpu = order["basis"]["gpu"]
        silence = SILENCE + order["basis"]["timeout"] + (GPU_START if gpu else 0)
        if self._gpu != gpu:  # the last class of this Dask worker was graded otherwise
            self._end(END_SECONDS)
            self._gpu = gpu
        if self._process is None:
            self._start()
            self._hear(silence)
        try:
            self._connection.send_bytes(json.dumps(order).encode())
        except OSError:
            raise _Lost(self._last_words()) from None
        while True:
            told = self._hear(silence)
            if "state" in told:
                return told["state"]

    def _start(self) -> None:
        self._line, theirs = socket.socketpair()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        with theirs:
            self._process = subprocess.Popen(
                command(theirs.fileno(), self._gpu),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the process that supervises
            )
        self._connection = Connection(os.dup(self._line.fileno()))

    def _hear(self, silence: float) -> dict:
        try:
            if not self._connection.poll(silence):
                raise _Lost(f"it said nothing for {silence:.0f} s")
            told = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            raise _Lost(self._last_words()) from None
        if "broken" in told:
            raise WorkerError(told["broken"])
        return told

    def _last_words(self) -> str:
        self._kill()
        code = self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {code}"

    def _kill(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def settle(plan: Plan, jobs: list[Job]) -> list[Job]:
    """Writes the result files that need no worker; returns the submissions that need one."""
    left = []
    for job in jobs:
        if job.file and not job.trouble:
            left.append(job)
            continue
        state = "unreadable" if job.trouble else "not_submitted"
        about = about_of(plan.order(job))
        record.save(plan.path_of(job), Record(**about, state=state, reason=job.trouble))
    return left


def grade(plan: Plan, jobs: list[Job], workers: int, heard: Callable[[Job, str], None]) -> None:
    """Grades submissions with so many workers; `heard` is told of each and its state.

    Raises WorkerError when nothing can be graded here. What is written stays, whatever happens.
    """
    todo: queue.SimpleQueue[Job] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Job, str] | Exception] = queue.SimpleQueue()
    for job in jobs:
        todo.put(job)
    graders = [Grader() for _ in range(min(workers, len(jobs)))]

    def work(grader: Grader) -> None:
        try:
            while True:
                job = todo.get_nowait()
                done.put((job, grader.grade(plan.order(job))))
        except queue.Empty:
            pass
        except Exception as error:  # noqa: BLE001 - raised again where the caller is
            done.put(error)

    for grader in graders:
        threading.Thread(target=work, args=[grader], daemon=True).start()
    try:
        for _ in jobs:
            told = done.get()
            if isinstance(told, Exception):
                raise told
            heard(*told)
    finally:
        ending = [threading.Thread(target=grader.close) for grader in graders]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()
