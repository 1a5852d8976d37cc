"""The vector that is written is not counted.

step: vector_add_gb_s
expect: failed
cause: traffic_miscounted
"""


def vector_add_gb_s(n, itemsize, ms):
    return 2 * n * itemsize / (ms * 1e-3) / 1e9
