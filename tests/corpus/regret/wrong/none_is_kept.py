"""None is compared with numbers.

step: regret
expect: error
cause: missing_times
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    left = min((times[i] for i in kept), default=float("inf"))
    return left / best - 1
