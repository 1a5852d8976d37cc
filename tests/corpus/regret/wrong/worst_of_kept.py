"""The slowest of what was kept.

step: regret
expect: failed
cause: regret_miscounted
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    left = max((times[i] for i in kept if times[i] is not None), default=float("inf"))
    return left / best - 1
