"""The number of kept configs is used, not which they are.

step: regret
expect: failed
cause: regret_miscounted
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    left = min((times[i] for i in range(len(kept)) if times[i] is not None), default=float("inf"))
    return left / best - 1
