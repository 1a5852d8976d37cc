"""The middle of the sorted times, in nanoseconds.

step: cold_bench_ms
expect: passed
"""

import time

import torch


def finish():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def cold_bench_ms(fn, clear_cache, warmup, repeats):
    def timed():
        clear_cache()
        finish()
        start = time.perf_counter_ns()
        fn()
        finish()
        return time.perf_counter_ns() - start

    for _ in range(warmup):
        fn()
    return sorted(timed() for _ in range(repeats))[repeats // 2] / 1e6
