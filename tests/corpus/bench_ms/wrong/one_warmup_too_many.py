"""One call more than asked for is made first.

step: bench_ms
expect: failed
cause: warmup_timed
"""

import statistics
import time

import torch


def finish():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def bench_ms(fn, warmup, repeats):
    for _ in range(warmup + 1):
        fn()
    finish()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
