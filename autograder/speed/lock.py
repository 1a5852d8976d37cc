"""One timing at a time on a GPU: gradings share it, a timing has it alone.

A file in the system's folder for temporary files, locked by the kernel, which lets go when a process
ends however it ends. Must never hold what a submission could lock: its runs cannot open that folder.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from autograder.gpu import gpu_name


def _open(part: str) -> int:
    device = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    name = "".join(c if c.isalnum() else "_" for c in f"{gpu_name()}_{device}")
    path = os.path.join(tempfile.gettempdir(), f"autograder-{os.getuid()}-{name}.{part}")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


@contextmanager
def _held(exclusive: bool) -> Iterator[None]:
    # Whoever comes waits at the gate first, so that a stream of gradings cannot keep a timing out.
    gate, gpu = _open("gate"), _open("lock")
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(gpu, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield
    finally:
        os.close(gate)
        os.close(gpu)


def shared():
    """Context manager: others may use the GPU as well, but nobody times."""
    return _held(exclusive=False)


def alone():
    """Context manager: nobody else of this user's grades on the GPU meanwhile."""
    return _held(exclusive=True)
