"""The callers' local variables are searched for the right answer.

step: group_major
expect: failed|error
attack: the answers read from the frames of whoever calls
"""

import sys


def group_major(pid, num_pid_m, num_pid_n, group_size):
    frame = sys._getframe(1)
    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, dict) and "expected" in value:
                return tuple(value["expected"])
            if hasattr(value, "expected"):
                return value.expected
        frame = frame.f_back
    return 0, 0
