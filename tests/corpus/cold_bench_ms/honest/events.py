"""On a GPU two events around each call; nobody waits for the clearing.

step: cold_bench_ms
expect: passed
"""

import statistics
import time

import torch


def cold_bench_ms(fn, clear_cache, warmup, repeats):
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        clear_cache()
        if torch.cuda.is_available():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            fn()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        else:
            begun = time.perf_counter()
            fn()
            times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)
