"""The warm-up calls are not made.

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
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
