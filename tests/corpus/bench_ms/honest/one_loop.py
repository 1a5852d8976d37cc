"""One loop for warm-up and timing; the first times are cut off.

step: bench_ms
expect: passed
"""

import statistics
import time

import torch


def finish():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def bench_ms(fn, warmup, repeats):
    times = []
    for _ in range(warmup + repeats):
        finish()
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[warmup:])
