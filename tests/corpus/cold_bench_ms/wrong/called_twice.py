"""The call before the clock starts brings the data back into the cache.

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
    times = []
    for _ in range(repeats):
        clear_cache()
        fn()
        finish()
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
