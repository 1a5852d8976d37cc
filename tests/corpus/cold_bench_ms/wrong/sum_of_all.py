"""The time of all calls together is returned.

step: cold_bench_ms
expect: failed
cause: total_time
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
        finish()
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    return sum(times)
