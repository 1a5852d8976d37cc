"""All calls are timed in one go and divided by their number.

step: bench_ms
expect: failed
cause: median_wrong
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
    start = time.perf_counter()
    for _ in range(repeats):
        fn()
    finish()
    seconds = time.perf_counter() - start
    return seconds / repeats * 1e3
