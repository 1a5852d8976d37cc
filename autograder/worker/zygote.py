"""A process with torch and Triton loaded that forks a guard for every run: 40 ms, not 2 s.

It runs no learner code itself. Requests come over one socket: a byte with two descriptors, the
arena and the run's own socket. Everything about a run goes over the latter, so that the zygote
reads nothing that a submission had a hand in. Must keep a single thread, or forks would hang.
"""

import json
import os
import select
import signal
import socket
import sys
import threading
from multiprocessing.connection import Connection

import psutil

MAX_JOB = 64 * 2**20


def main(control_fd: int) -> None:
    """Serves until the grader closes the control socket."""
    os.environ["TRITON_INTERPRET"] = "1"
    import torch

    torch.set_num_threads(1)
    from autograder.worker import interpreter, system

    system.become_subreaper()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    bfloat16 = interpreter.repair()
    interpreter.warm_up()
    if threading.active_count() != 1:
        raise RuntimeError("the zygote has more than one thread and cannot fork safely")
    control = socket.socket(fileno=control_fd)
    control.sendall(b"R" if bfloat16 else b"r")  # ready, with and without bfloat16 values
    guards: set[int] = set()
    while True:
        ready, _, _ = select.select([control], [], [], 0.5)
        if ready:
            message, fds, _, _ = socket.recv_fds(control, 1, 2)
            if not message:
                break
            guards.add(_fork_guard(control, *fds))
        _reap(guards)
    system.kill_descendants()


def _fork_guard(control: socket.socket, arena_fd: int, run_fd: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            control.close()
            _guard(arena_fd, run_fd)
        finally:
            os._exit(0)
    os.close(arena_fd)
    os.close(run_fd)
    return pid


def _guard(arena_fd: int, run_fd: int) -> None:
    from autograder.worker import guard

    with Connection(run_fd) as connection:
        job = json.loads(connection.recv_bytes(MAX_JOB))
        outcome = guard.supervise(job, arena_fd, close_in_run=run_fd)
        connection.send_bytes(json.dumps(outcome).encode())


def _reap(guards: set[int]) -> None:
    """Collects ended guards; a run that killed its guard leaves orphans, which are killed here."""
    try:
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            guards.discard(pid)
    except ChildProcessError:
        return
    for child in psutil.Process().children():
        if child.pid not in guards:
            for orphan in [*child.children(recursive=True), child]:
                orphan.kill()


if __name__ == "__main__":
    main(int(sys.argv[1]))
