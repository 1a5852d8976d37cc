"""The median is printed and not returned.

step: bench_ms
expect: failed
cause: wrong_type
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
        start = time.perf_counter()
        fn()
        finish()
        times.append((time.perf_counter() - start) * 1e3)
    print(statistics.median(times))
