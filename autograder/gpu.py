"""Whether this machine has a GPU that Triton could use, found without importing torch.

Must never initialise a GPU context: the process that asks may fork afterwards.
"""

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def has_gpu() -> bool:
    """True if the NVIDIA driver counts at least one device, or an AMD compute node is there."""
    return _nvidia_devices() > 0 or Path("/dev/kfd").exists()


@contextmanager
def alone(gpu: str) -> Iterator[None]:
    """Waits until nobody else times anything on a GPU, and keeps it so: one timed run per GPU.

    `gpu` is what no other GPU is called, such as its UUID. Holds among all processes of this machine
    that ask here, the workers of a class, shards and Dask workers. One that is killed lets go.
    """
    import fcntl  # not on Windows

    name = hashlib.sha256(gpu.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir(), f"autograder-gpu-{name}.lock")
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # another user's, perhaps
    except FileNotFoundError:
        file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _nvidia_devices() -> int:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value
