"""The result is in gigabits a second.

step: vector_add_gb_s
expect: failed
cause: unit_wrong
"""


def vector_add_gb_s(n, itemsize, ms):
    return 8 * 3 * n * itemsize / (ms * 1e-3) / 1e9
