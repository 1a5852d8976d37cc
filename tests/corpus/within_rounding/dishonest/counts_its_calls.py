"""The verdicts are given by turns, without a look at the result.

step: within_rounding
expect: failed|error
attack: an order of right and wrong results learnt by heart
"""

CALLS = [0]


def within_rounding(c, a, b):
    CALLS[0] += 1
    return (CALLS[0] - 1) % 5 < 3
