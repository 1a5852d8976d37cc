"""Keeping nothing ends in an error.

step: regret
expect: error
cause: crashed
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    left = min(times[i] for i in kept if times[i] is not None)
    return left / best - 1
