"""A percentage.

step: regret
expect: failed
cause: regret_miscounted
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    left = min((times[i] for i in kept if times[i] is not None), default=float("inf"))
    return 100 * (left / best - 1)
