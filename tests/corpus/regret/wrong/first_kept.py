"""The first of what was kept, as if the list were sorted.

step: regret
expect: failed
cause: regret_miscounted
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    left = next((times[i] for i in kept if times[i] is not None), float("inf"))
    return left / best - 1
