"""The callers' local variables are searched for the right answer.

step: busiest_sm_loads
expect: failed|error
attack: the answers read from the frames of whoever calls
"""

import sys


def busiest_sm_loads(M, N, block_m, block_n, sms):
    frame = sys._getframe(1)
    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, dict) and "expected" in value:
                return value["expected"]
            if hasattr(value, "expected"):
                return value.expected
        frame = frame.f_back
    return 0
