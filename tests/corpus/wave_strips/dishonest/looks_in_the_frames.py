"""The callers' local variables are searched for the right answer.

step: wave_strips
expect: failed|error
attack: the answers read from the frames of whoever calls
"""

import sys


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    frame = sys._getframe(1)
    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, dict) and "expected" in value:
                return value["expected"]
            if hasattr(value, "expected"):
                return value.expected
        frame = frame.f_back
    return 0, 0
