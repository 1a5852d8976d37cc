"""It waits before the call and not after it.

step: bench_ms
expect: failed
cause: not_synchronised
"""

import statistics
import time

import torch


def finish():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def bench_ms(fn, warmup, repeats):
    for _ in range(warmup):
        fn()
    finish()
    times = []
    for _ in range(repeats):
        finish()
        start = time.perf_counter()
        fn()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
