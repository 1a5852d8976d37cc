"""x.amax does the whole step.

step: row_max
expect: refused
attack: library reduction in place of a kernel
"""


def row_max(x):
    return x.amax(dim=1)
