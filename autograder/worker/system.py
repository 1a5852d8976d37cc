"""Process control that worker/guard.py and worker/zygote.py share.

Must never be used by the process that runs a submission.
"""

import ctypes
import os
import time

import psutil

PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Orphaned descendants become children of this process instead of init's (Linux 3.4)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def kill_descendants() -> None:
    """Kills every descendant until none is left; orphans come back to this subreaper."""
    me = psutil.Process()
    while True:
        for child in me.children(recursive=True):
            try:
                child.kill()
            except psutil.NoSuchProcess:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)
