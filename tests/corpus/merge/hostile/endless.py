"""It never returns.

step: merge
expect: timed_out
attack: an endless loop
"""


def merge(m1, l1, m2, l2):
    while True:
        pass
