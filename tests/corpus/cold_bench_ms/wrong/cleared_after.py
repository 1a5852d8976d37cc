"""The cache is cleared after each call but the one that matters comes first.

step: cold_bench_ms
expect: failed
cause: warmup_timed|cache_not_cleared|median_wrong
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
    finish()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
        clear_cache()
        finish()
    return statistics.median(times)
