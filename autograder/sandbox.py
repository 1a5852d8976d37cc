"""The grader's side of the worker: starts it, hands it runs, and gets back bytes.

One zygote serves many runs, two at a time on two cores. A zygote that a submission kills is
replaced. Must never believe a run: `Outcome.account` is evidence for a diagnosis only.
"""

import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from autograder import account
from autograder.account import Account

MAX_ANSWER = 4 * 2**20
START_SECONDS = 120  # a cold disk reads torch slowly
GRACE_SECONDS = 10  # between a run's own limit and giving up on its guard
MARK = "AUTOGRADER_WORKER"  # in the environment of every process that descends from a zygote


class WorkerError(Exception):
    """The worker cannot be started at all; one sentence."""


@dataclass(frozen=True)
class Outcome:
    """What became of one run. `end` as in worker/guard.py, or `lost` when the guard vanished.

    `account` is None when the run left none; `trace` is faulthandler's text, which names lines of
    files in `folder`.
    """

    end: str
    code: int = 0
    seconds: float = 0.0
    account: Account | None = None
    output: str = ""
    trace: str = ""
    folder: str = ""


class Sandbox:
    """Runs cases of submissions. Thread-safe; use as a context manager, or keep it for a session.

    Raises WorkerError when the worker does not start.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self.knows_bfloat16 = True  # until the worker says otherwise when it is ready
        self._mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self._start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Ends the worker and whatever is left of its runs."""
        self._control.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._sweep()

    def run(self, job: dict, arena_fd: int) -> Outcome:
        """One run of a submission; `job` as worker/runner.py reads it."""
        for attempt in (1, 2):
            ours, theirs = socket.socketpair()
            try:
                with self._lock, theirs:
                    self.wait_until_ready()
                    zygote = self._process
                    socket.send_fds(self._control, [b"J"], [arena_fd, theirs.fileno()])
                break
            except OSError:
                ours.close()
                if attempt == 2:
                    raise WorkerError("the worker process ended twice in a row") from None
                self._replace(self._process)
        with Connection(ours.detach()) as connection:
            try:
                connection.send_bytes(json.dumps(job).encode())
                if not connection.poll(job["wall_seconds"] + GRACE_SECONDS):
                    self._replace(zygote)
                    return Outcome("lost")
                answer = json.loads(connection.recv_bytes(MAX_ANSWER))
            except (EOFError, OSError):
                return Outcome("lost")
        return Outcome(
            answer["end"],
            answer["code"],
            answer["seconds"],
            account.parse(base64.b64decode(answer["report"]), answer["folder"]),
            answer["output"],
            answer["trace"],
            answer["folder"],
        )

    # --- the zygote ---------------------------------------------------------------------------

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        environment = {
            **os.environ,
            "TRITON_INTERPRET": "1",
            "OMP_NUM_THREADS": "1",  # one thread, so that forking is safe
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONNOUSERSITE": "1",
            "CUDA_VISIBLE_DEVICES": "",  # kernels run in the interpreter, on every machine
            MARK: self._mark,
        }
        root = str(Path(__file__).resolve().parent.parent)
        code = (
            f"import sys; sys.path.insert(0, {root!r})\n"
            f"from autograder.worker.zygote import main; main({theirs.fileno()})"
        )
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env=environment,
                cwd="/",
            )
        self._ready = False

    def wait_until_ready(self) -> None:
        """Returns once the worker has loaded torch and Triton and run a kernel."""
        if self._ready:
            return
        self._control.settimeout(START_SECONDS)
        try:
            answer = self._control.recv(1)
        except TimeoutError:
            answer = b""
        started = answer in (b"R", b"r")
        self.knows_bfloat16 = answer == b"R"
        self._control.settimeout(None)
        if not started:
            self._process.kill()
            last = self._process.stderr.read().decode(errors="replace").strip().splitlines()
            reason = last[-1] if last else "no reason given"
            raise WorkerError(f"the worker process did not start: {reason}")
        self._ready = True

    def _replace(self, zygote: subprocess.Popen) -> None:
        with self._lock:
            if self._process is not zygote:
                return  # another thread was faster
            self._process.kill()
            self._process.wait()
            self._control.close()
            self._sweep()
            self._start()

    def leftovers(self) -> list[psutil.Process]:
        """Processes that descend from this sandbox's zygotes, by the mark they inherited."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self._mark:
                    found.append(process)
            except (psutil.Error, OSError):
                pass  # ended meanwhile, or not ours to look at
        return [p for p in found if p.pid != self._process.pid]

    def _sweep(self) -> None:
        for process in self.leftovers():
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass
