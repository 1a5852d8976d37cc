"""The difference first, then the share.

step: regret
expect: passed
"""


def regret(times, kept):
    ran = {i: t for i, t in enumerate(times) if t is not None}
    best = min(ran.values())
    left = [ran[i] for i in kept if i in ran]
    return (min(left) - best) / best if left else float("inf")
