"""Watches one run of a submission and sees to it that nothing of it is left.

The guard is forked from the zygote, holds no learner code, and is the subreaper of the run: what a
submission detaches comes back to it and is killed. It bounds time, output, memory and number of
processes of the whole tree, and passes the run's report on unread.
Must never parse what a submission says, and never outlive its run.
"""

import base64
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path

from autograder.worker import limits, runner, system
from autograder.worker.isolation import Isolation

POLL_SECONDS = 0.05
TRACE_SECONDS = 1.0  # how long a run that is stopped gets to write down where it is
KEPT_OUTPUT = 64 * 1024
MAX_OUTPUT = 16 * 2**20
MAX_PROCESSES = 64
MAX_TREE_BYTES = 6 * 2**30


def supervise(job: dict, arena_fd: int, close_in_run: int, isolation: Isolation) -> dict:
    """Runs the job in a child and returns what became of it.

    `end` is `exited`, `signalled`, `timed_out`, `printed_too_much`, `too_many_processes`,
    `too_much_memory`, or `not_isolated` when a layer of isolation failed, and then nothing of the
    submission was run and `output` says why. `report` is the run's own account, unread; `output`
    is what it printed. `close_in_run` is the socket to the grader, which the run must not have.
    """
    os.setsid()
    system.become_subreaper()
    folder = Path(tempfile.mkdtemp(prefix="run-"))
    try:
        try:
            isolation.enter()
        except OSError as error:
            return _not_isolated(str(error), folder)
        system.die_with_parent(signal.SIGKILL)  # a change of rights would have undone it
        return _run(job, arena_fd, close_in_run, isolation, folder)
    finally:
        system.kill_descendants()
        shutil.rmtree(folder, ignore_errors=True)


def _not_isolated(reason: str, folder: Path) -> dict:
    return {
        "end": "not_isolated",
        "code": 0,
        "seconds": 0.0,
        "report": "",
        "output": reason,
        "trace": "",
        "folder": str(folder),
    }


def _run(job: dict, arena_fd: int, close_in_run: int, isolation: Isolation, folder: Path) -> dict:
    pipes = {name: os.pipe() for name in ("report", "output", "trace", "isolation")}
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(close_in_run)
            _become_runner(pipes, folder)
            _confine(isolation, folder, pipes["isolation"][1])
            runner.run(job, arena_fd, pipes["report"][1], pipes["trace"][1], folder)
        finally:
            os._exit(70)
    for _, write_end in pipes.values():
        os.close(write_end)
    # The run closes this pipe before it loads the submission, which therefore cannot write to it.
    with os.fdopen(pipes.pop("isolation")[0], "rb") as pipe:
        reason = pipe.read().decode("utf-8", "replace")
    if reason:
        return _not_isolated(reason, folder)
    reader = _Reader({name: ends[0] for name, ends in pipes.items()})
    end, code = _watch(pid, reader, started + job["wall_seconds"])
    system.kill_descendants()
    reader.drain()
    return {
        "end": end,
        "code": code,
        "seconds": time.monotonic() - started,
        "report": base64.b64encode(reader.kept["report"]).decode(),
        "output": reader.kept["output"].decode("utf-8", "replace"),
        "trace": reader.kept["trace"].decode("utf-8", "replace"),
        "folder": str(folder),
    }


def _become_runner(pipes: dict, folder: Path) -> None:
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(pipes["output"][1], 1)
    os.dup2(pipes["output"][1], 2)
    for read_end, _ in pipes.values():
        os.close(read_end)
    os.chdir(folder)
    for name in ("HOME", "TMPDIR", "TRITON_CACHE_DIR"):
        os.environ[name] = str(folder)
    tempfile.tempdir = None  # forget the guard's own
    system.open_to_inspection(True)  # or /proc/self would not be its own
    limits.end_first_when_memory_is_short()


def _confine(isolation: Isolation, folder: Path, pipe: int) -> None:
    """Puts the layers on. One that fails is told through `pipe`, and the run goes no further."""
    try:
        isolation.confine(folder)
    except OSError as error:
        os.write(pipe, str(error).encode())
        os._exit(0)
    os.close(pipe)


def _watch(pid: int, reader: "_Reader", deadline: float) -> tuple[str, int]:
    """Waits for the run to end by itself, or ends it: how, and the exit code or signal."""
    next_look = time.monotonic() + POLL_SECONDS  # most runs have ended by then
    while True:
        reader.read(POLL_SECONDS)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return "signalled", os.WTERMSIG(status)
            return "exited", os.WEXITSTATUS(status)
        now = time.monotonic()
        if now > deadline:
            os.kill(pid, signal.SIGUSR1)  # makes it write down where it is
            reader.wait_for("trace", TRACE_SECONDS)
            return "timed_out", 0
        if reader.total["output"] > MAX_OUTPUT:
            return "printed_too_much", 0
        if now >= next_look:
            next_look = now + POLL_SECONDS
            children = system.descendants()
            if len(children) > MAX_PROCESSES:
                return "too_many_processes", 0
            if sum(map(_own_bytes, children)) > MAX_TREE_BYTES:
                return "too_much_memory", 0


def _own_bytes(pid: int) -> int:
    """Memory of a process that no file backs: private, and shared with its children."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0  # ended meanwhile
    fields = dict(line.split(":", 1) for line in status.splitlines())
    kinds = [fields[name] for name in ("RssAnon", "RssShmem") if name in fields]
    return sum(int(text.split()[0]) * 1024 for text in kinds)


class _Reader:
    """Reads the run's pipes and keeps the first bytes of each."""

    def __init__(self, pipes: dict[str, int]):
        self._open = {fd: name for name, fd in pipes.items()}
        self.kept = {name: b"" for name in pipes}
        self.total = {name: 0 for name in pipes}

    def read(self, seconds: float) -> None:
        """Waits at most `seconds` for output, or for a pipe to close, and takes it."""
        if not self._open:
            time.sleep(seconds / 10)
            return
        for fd in select.select(list(self._open), [], [], seconds)[0]:
            name, data = self._open[fd], os.read(fd, 1 << 16)
            if not data:
                os.close(fd)
                del self._open[fd]
            room = runner.MAX_REPORT if name == "report" else KEPT_OUTPUT
            self.kept[name] += data[: room - len(self.kept[name])]
            self.total[name] += len(data)

    def wait_for(self, name: str, seconds: float) -> None:
        """Reads until something has come through a pipe and no more follows, or time is up."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            before = self.total[name]
            self.read(POLL_SECONDS)
            if 0 < before == self.total[name]:
                return

    def drain(self) -> None:
        """Takes what is left once every writer is gone."""
        while self._open:
            self.read(1.0)
