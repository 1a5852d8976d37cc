"""What did not run takes forever.

step: regret
expect: passed
"""

from math import inf


def regret(times, kept):
    times = [inf if t is None else t for t in times]
    return min([times[i] for i in kept], default=inf) / min(times) - 1
