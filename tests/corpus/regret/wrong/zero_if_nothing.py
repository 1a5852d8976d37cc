"""Keeping nothing costs nothing.

step: regret
expect: failed
cause: nothing_left
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    if not [i for i in kept if times[i] is not None]:
        return 0.0
    left = min((times[i] for i in kept if times[i] is not None), default=float("inf"))
    return left / best - 1
