"""Both minima are over what was kept.

step: regret
expect: failed
cause: regret_miscounted
"""


def regret(times, kept):
    best = min((times[i] for i in kept if times[i] is not None), default=1.0)
    left = min((times[i] for i in kept if times[i] is not None), default=float("inf"))
    return left / best - 1
