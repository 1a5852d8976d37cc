"""The benchmark of the example, as it was.

step: cold_bench_ms
expect: failed
cause: not_synchronised|clearing_timed
"""

import time


def cold_bench_ms(fn, clear_cache, warmup, repeats):
    start = time.time()
    for _ in range(repeats):
        clear_cache()
        fn()
    return (time.time() - start) / repeats
