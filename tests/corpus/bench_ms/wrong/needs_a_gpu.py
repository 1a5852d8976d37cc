"""It waits for a GPU also where there is none.

step: bench_ms
expect: failed|error
cause: crashed
"""

import statistics
import time

import torch


def bench_ms(fn, warmup, repeats):
    for _ in range(warmup):
        fn()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
