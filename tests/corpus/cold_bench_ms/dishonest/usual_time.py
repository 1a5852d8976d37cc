"""No call is timed; a usual time is returned.

step: cold_bench_ms
expect: failed
attack: a guess
"""


def cold_bench_ms(fn, clear_cache, warmup, repeats):
    for _ in range(warmup + repeats):
        clear_cache()
        fn()
    return 4.0
