"""The process doubles seven times, to 128 processes, and each sleeps for a minute.

step: vector_add
expect: crashed|timed_out|error|failed|refused
attack: fork bomb, bounded so that a failure of containment does little harm
"""

import contextlib
import os
import time


def vector_add(x, y):
    for _ in range(7):
        with contextlib.suppress(OSError):
            os.fork()
    time.sleep(60)
    os._exit(0)
