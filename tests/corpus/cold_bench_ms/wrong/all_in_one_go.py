"""Clearing and calls are timed together and divided by their number.

step: cold_bench_ms
expect: failed
cause: clearing_timed
"""

import time

import torch


def finish():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def cold_bench_ms(fn, clear_cache, warmup, repeats):
    for _ in range(warmup):
        fn()
    finish()
    start = time.perf_counter()
    for _ in range(repeats):
        clear_cache()
        fn()
    finish()
    return (time.perf_counter() - start) / repeats * 1e3
