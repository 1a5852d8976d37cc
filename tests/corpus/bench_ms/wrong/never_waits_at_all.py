"""There is no wait anywhere.

step: bench_ms
expect: failed
cause: not_synchronised
"""

import statistics
import time


def bench_ms(fn, warmup, repeats):
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)
