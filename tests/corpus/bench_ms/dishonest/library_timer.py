"""Triton's own timer does the work.

step: bench_ms
expect: failed|error
attack: a library's timer in place of one's own
"""

import triton


def bench_ms(fn, warmup, repeats):
    return triton.testing.do_bench(fn, warmup=warmup, rep=repeats, return_mode="median")
