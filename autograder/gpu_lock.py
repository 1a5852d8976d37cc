"""One timed run per GPU: whoever times something there holds its lock meanwhile.

Among all processes of a machine that ask here: `grade`, the workers of a class, shards, Dask workers.
Must never be held by a process that a submission runs in.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(gpu: str) -> Iterator[None]:
    """Waits until nobody else holds the GPU, and keeps it so. A process that is killed lets go.

    `gpu` is what no other GPU of the machine is called, such as its UUID.
    """
    import fcntl  # not on Windows

    name = hashlib.sha256(gpu.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir(), f"autograder-gpu-{name}.lock")
    try:
        file = os.open(path, os.O_RDONLY)  # another user's, perhaps
    except FileNotFoundError:
        file = os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
