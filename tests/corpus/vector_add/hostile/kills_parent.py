"""The function kills the process that started it.

step: vector_add
expect: crashed|error|failed|timed_out
attack: SIGKILL to the parent
"""

import os
import signal
import time


def vector_add(x, y):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1)
    return x
