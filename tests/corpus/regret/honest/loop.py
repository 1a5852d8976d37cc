"""One loop over all, with two running minima.

step: regret
expect: passed
"""


def regret(times, kept):
    best = left = float("inf")
    for i, t in enumerate(times):
        if t is None:
            continue
        best = min(best, t)
        if i in kept:
            left = min(left, t)
    return left / best - 1
