"""What did not run counts as 0 ms among the kept.

step: regret
expect: failed
cause: missing_times
"""


def regret(times, kept):
    best = min(t for t in times if t is not None)
    left = min((times[i] or 0.0 for i in kept), default=float("inf"))
    return left / best - 1
