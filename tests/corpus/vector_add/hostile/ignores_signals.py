"""Every signal that can be ignored is ignored, then it spins, for two minutes at most.

step: vector_add
expect: timed_out|crashed
attack: spin that no polite signal ends
"""

import contextlib
import signal
import time


def vector_add(x, y):
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        pass
    return x
