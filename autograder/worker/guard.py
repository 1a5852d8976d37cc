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

import psutil

from autograder.worker import runner
from autograder.worker.system import become_subreaper, kill_descendants

POLL_SECONDS = 0.05
TRACE_SECONDS = 1.0  # how long a run that is stopped gets to write down where it is
KEPT_OUTPUT = 64 * 1024
MAX_OUTPUT = 16 * 2**20
MAX_PROCESSES = 64
MAX_TREE_BYTES = 6 * 2**30


def supervise(job: dict, arena_fd: int, close_in_run: int) -> dict:
    """Runs the job in a child and returns what became of it.

    `end` is `exited`, `signalled`, `timed_out`, `printed_too_much`, `too_many_processes` or
    `too_much_memory`; `report` is the run's own account, unread; `output` what it printed.
    `close_in_run` is the socket to the grader, which the run must not have.
    """
    os.setsid()
    become_subreaper()
    folder = Path(tempfile.mkdtemp(prefix="autograder-run-"))
    try:
        return _run(job, arena_fd, close_in_run, folder)
    finally:
        kill_descendants()
        shutil.rmtree(folder, ignore_errors=True)


def _run(job: dict, arena_fd: int, close_in_run: int, folder: Path) -> dict:
    pipes = {name: os.pipe() for name in ("report", "output", "trace")}
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(close_in_run)
            _become_runner(pipes, folder)
            runner.run(job, arena_fd, pipes["report"][1], pipes["trace"][1], folder)
        finally:
            os._exit(70)
    for _, write_end in pipes.values():
        os.close(write_end)
    reader = _Reader({name: ends[0] for name, ends in pipes.items()})
    end, code = _watch(pid, reader, started + job["wall_seconds"])
    kill_descendants()
    reader.drain()
    return {
        "end": end,
        "code": code,
        "seconds": time.monotonic() - started,
        "report": base64.b64encode(reader.kept["report"]).decode(),
        "output": reader.kept["output"].decode("utf-8", "replace"),
        "output_bytes": reader.total["output"],
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


def _watch(pid: int, reader: "_Reader", deadline: float) -> tuple[str, int]:
    """Waits for the run to end by itself, or ends it: how, and the exit code or signal."""
    tree = psutil.Process()
    next_look = 0.0
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
            children = tree.children(recursive=True)
            if len(children) > MAX_PROCESSES:
                return "too_many_processes", 0
            if sum(map(_private_bytes, children)) > MAX_TREE_BYTES:
                return "too_much_memory", 0


def _private_bytes(process: psutil.Process) -> int:
    """Memory of a process without the pages it shares with the zygote."""
    try:
        memory = process.memory_info()
        return memory.rss - memory.shared
    except psutil.Error:
        return 0


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
