"""One timing at a time on a GPU: gradings share it, a timing has it alone.

A file in the system's folder for temporary files, locked by the kernel, which lets go when a process
ends however it ends. Must never hold what a submission could lock: its runs cannot open that folder.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autograder.gpu import gpu_name

LOOK_SECONDS = 0.02


def _open(part: str) -> int:
    device = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    name = "".join(c if c.isalnum() else "_" for c in f"{gpu_name()}_{device}")
    path = os.path.join(tempfile.gettempdir(), f"autograder-{os.getuid()}-{name}.{part}")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


@contextmanager
def _held(kind: int, waiting: Callable[[], None]) -> Iterator[None]:
    # Whoever comes waits at the gate first, so that a stream of gradings cannot keep a timing out.
    gate, gpu = _open("gate"), _open("lock")
    try:
        _take(gate, fcntl.LOCK_EX, waiting)
        _take(gpu, kind, waiting)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield
    finally:
        # Unlocked, not only closed: a process forked meanwhile has them open as well.
        for fd in (gate, gpu):
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)


def _take(fd: int, kind: int, waiting: Callable[[], None]) -> None:
    while True:
        try:
            return fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            time.sleep(LOOK_SECONDS)


def shared(waiting: Callable[[], None]):
    """Context manager: others may use the GPU as well, but nobody times. `waiting` is called now and
    then until it begins."""
    return _held(fcntl.LOCK_SH, waiting)


def alone(waiting: Callable[[], None]):
    """Context manager: nobody else of this user's grades on the GPU meanwhile."""
    return _held(fcntl.LOCK_EX, waiting)
