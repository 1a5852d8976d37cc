"""The cache is cleared once, before the loop.

step: cold_bench_ms
expect: failed
cause: cache_not_cleared
"""

import statistics
import time

import torch


def finish():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def cold_bench_ms(fn, clear_cache, warmup, repeats):
    for _ in range(warmup):
        fn()
    clear_cache()
    finish()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
