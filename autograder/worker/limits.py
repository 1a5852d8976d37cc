"""Resource limits of the process that runs a submission, set by itself before it loads anything.

They bound one process; the guard watches the whole tree. Linux only.
"""

import resource
from pathlib import Path

FILE_BYTES = 64 * 2**20
DATA_BYTES = 4 * 2**30  # torch needs 181 MB of it to import; a tensor of 100 GB fails cleanly
# A GPU's driver sets aside as many addresses as the GPU has memory, and more.
DATA_BYTES_WITH_GPU = 2**44
OPEN_FILES = 256


def end_first_when_memory_is_short() -> None:
    """The kernel, out of memory, ends this process before the grader's others (a score of 0)."""
    Path("/proc/self/oom_score_adj").write_text("1000")


def apply(cpu_seconds: int, data_bytes: int = DATA_BYTES) -> None:
    """Bounds CPU time, file size, memory and open files, soft limit equal to hard."""
    for kind, value in (
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_DATA, data_bytes),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))
