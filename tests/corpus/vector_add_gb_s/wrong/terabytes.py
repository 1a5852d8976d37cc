"""The result is in TB/s.

step: vector_add_gb_s
expect: failed
cause: unit_wrong
"""


def vector_add_gb_s(n, itemsize, ms):
    return 3 * n * itemsize / (ms * 1e-3) / 1e12
