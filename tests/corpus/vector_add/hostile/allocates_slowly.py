"""The function keeps 64 MB blocks, 8 GB in all, and gives nothing back.

step: vector_add
expect: error|crashed|timed_out|failed
attack: slow allocation
"""

import time


def vector_add(x, y):
    kept = []
    for _ in range(128):
        kept.append(b"x" * (64 * 1024**2))
        time.sleep(0.02)
    return len(kept)
