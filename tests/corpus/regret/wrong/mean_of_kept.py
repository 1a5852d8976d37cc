"""The mean of what was kept, not the best of it.

step: regret
expect: failed
cause: regret_miscounted
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    there = [times[i] for i in kept if times[i] is not None]
    left = sum(there) / len(there) if there else float("inf")
    return left / best - 1
