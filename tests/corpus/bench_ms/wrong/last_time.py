"""Only the last time is kept.

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
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        finish()
        ms = (time.perf_counter() - start) * 1e3
    return ms
