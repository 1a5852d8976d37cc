"""A process with torch and Triton loaded that forks a guard for every run: 40 ms, not 2 s.

It runs no learner code itself. Requests come over one socket: a byte with two descriptors, the run's
arena and its own socket, and for a timed run a third, the GPU memory that it shares with the
referee. Everything about a run goes over its own socket, so that the zygote reads nothing that a
submission had a hand in. At its start it tries the layers of isolation and tells the grader. Must
keep a single thread, or forks would hang.
"""

import gc
import json
import os
import select
import shutil
import signal
import socket
import threading
from collections.abc import Collection
from multiprocessing.connection import Connection

import psutil
import torch

from autograder.worker import compiler, gpu_start, guard, interpreter, system
from autograder.worker.isolation import Isolation

MAX_JOB = 64 * 2**20
# Objects made between two collections. With Python's own number collecting was about a fifth of
# the runs' processor time: most of what a run makes, such as the tree of its code, is no garbage.
RARELY = 20_000


def main(control_fd: int, folder: str, mode: str, without: Collection[str]) -> None:
    """Serves until the grader closes the control socket, or is gone, then removes `folder`: its own,
    and that of its runs.

    `mode`: interpret, compile or cuda; one process can never do two of them, because Triton decides
    when it is imported, and a process that has used a GPU cannot fork. `without` is for tests of
    isolation.
    """
    signal.signal(signal.SIGTERM, _end)  # which a notebook's kernel sends when it ends
    try:
        _serve(control_fd, mode, without)
    finally:
        system.kill_descendants()
        shutil.rmtree(folder, ignore_errors=True)


def _end(*_) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise SystemExit


def _serve(control_fd: int, mode: str, without: Collection[str]) -> None:
    torch.set_num_threads(1)
    system.become_subreaper()
    system.open_to_inspection(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    bfloat16 = _warm_up(mode)
    if threading.active_count() != 1:
        raise RuntimeError("the zygote has more than one thread and cannot fork safely")
    gc.freeze()  # a run's collections need not look at, and so copy, what was there before it
    gc.set_threshold(RARELY)
    control = socket.socket(fileno=control_fd)
    layers = Isolation(without, gpu=mode == "cuda")
    ready = {"bfloat16": bfloat16, "layers": layers.report()}
    control.sendall(json.dumps(ready).encode() + b"\n")
    guards: set[int] = set()
    orphans = False
    while True:
        ready, _, _ = select.select([control], [], [], 0.01 if orphans else 0.5)
        if ready:
            message, fds, _, _ = socket.recv_fds(control, 1, 3)
            if not message:
                break
            guards.add(_fork_guard(control, layers, *fds))
        orphans = _reap(guards, orphans)


def _warm_up(mode: str) -> bool:
    """Makes ready what every fork needs. Returns whether bfloat16 values come out right."""
    if mode == "compile":
        compiler.warm_up()
        return True
    if mode == "cuda":
        gpu_start.warm_up()
        return True
    bfloat16 = interpreter.repair()
    interpreter.warm_up()
    return bfloat16


def _fork_guard(
    control: socket.socket, layers: Isolation, arena_fd: int, run_fd: int, *memory_fd: int
) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            control.close()
            _guard(layers, arena_fd, run_fd, *memory_fd)
            os._exit(0)
        finally:
            os._exit(1)
    for fd in (arena_fd, run_fd, *memory_fd):
        os.close(fd)
    return pid


def _guard(layers: Isolation, arena_fd: int, run_fd: int, memory_fd: int = -1) -> None:
    with Connection(run_fd) as connection:
        job = json.loads(connection.recv_bytes(MAX_JOB))
        job["memory_fd"] = memory_fd
        outcome = guard.supervise(job, arena_fd, run_fd, layers)
        connection.send_bytes(json.dumps(outcome).encode())


def _reap(guards: set[int], orphans: bool) -> bool:
    """Collects ended guards; a run that killed its guard leaves orphans, which are killed here.

    Looks for them, which takes milliseconds, where there were some or a guard did not end well.
    Returns whether there were orphans: what they leave comes back here too.
    """
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            guards.discard(ended[0])
            orphans |= ended[1] != 0
    except ChildProcessError:
        return False
    if not orphans:
        return False
    orphans = [child for child in psutil.Process().children() if child.pid not in guards]
    for orphan in orphans:
        for process in (*_children(orphan), orphan):
            system.kill(process)
    return bool(orphans)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
