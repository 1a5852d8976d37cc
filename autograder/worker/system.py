"""System calls that Python has no function for, and control of processes.

Shared by the guard, the zygote and the layers of isolation; a run's own code never calls it. Linux
only, through libc. Must never swallow an error: what the kernel refuses is an OSError.
"""

import ctypes
import glob
import os
import time
from pathlib import Path

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
KEEPS_CHILDREN = os.path.exists("/proc/thread-self/children")

_libc = ctypes.CDLL(None, use_errno=True)


def call(function: str, *arguments: int | bytes | None) -> int:
    """Calls a function of libc with integers, bytes or NULL. Raises OSError if it returns -1."""
    # Widened here, since ctypes would cut an integer to 32 bits.
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = _libc[function](*wide)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), function)
    return result


def prctl(option: int, *arguments: int | bytes) -> None:
    """One operation on this process. Raises OSError."""
    call("prctl", option, *arguments, *[0] * (4 - len(arguments)))


def become_subreaper() -> None:
    """Orphaned descendants become children of this process instead of init's (Linux 3.4)."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal: int) -> None:
    """The kernel sends this process `signal` when its parent ends."""
    prctl(PR_SET_PDEATHSIG, signal)


def open_to_inspection(yes: bool) -> None:
    """Whether processes of the same user may read this one's memory, environment and files.

    Children inherit it. While it is off, /proc/self belongs to root.
    """
    prctl(PR_SET_DUMPABLE, int(yes))


def descendants() -> list[int]:
    """Descendants of this process, as far as the kernel tells while they come and go.

    A look at every process of the machine takes milliseconds; few kernels make it necessary.
    """
    if not KEEPS_CHILDREN:
        return [child.pid for child in psutil.Process().children(recursive=True)]
    found, todo = [], [os.getpid()]
    while todo:
        for told in glob.glob(f"/proc/{todo.pop()}/task/*/children"):
            try:
                children = [int(pid) for pid in Path(told).read_text().split()]
            except OSError:
                continue  # ended meanwhile
            found += children
            todo += children
    return found


def kill(process: psutil.Process) -> None:
    """Kills a process, unless it has ended meanwhile."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        pass


def kill_descendants() -> None:
    """Kills every descendant until none is left; orphans come back to this subreaper, so that one
    without children has no descendants either."""
    me = psutil.Process()
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for child in me.children(recursive=True):
            kill(child)
        time.sleep(0.002)
