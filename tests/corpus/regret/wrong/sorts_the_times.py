"""The list of times is sorted in place first.

step: regret
expect: failed
cause: input_modified
"""


def regret(times, kept):
    times.sort(key=lambda t: float("inf") if t is None else t)
    best = times[0]
    left = min((times[i] for i in kept if times[i] is not None), default=float("inf"))
    return left / best - 1
