"""The clock that counts nanoseconds, and NumPy's median.

step: bench_ms
expect: passed
"""

import time

import numpy as np
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
        begun = time.perf_counter_ns()
        fn()
        finish()
        times.append(time.perf_counter_ns() - begun)
    return float(np.median(times)) / 1e6
