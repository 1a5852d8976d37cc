"""Numbers are counted instead of bytes.

step: vector_add_gb_s
expect: failed
cause: traffic_miscounted
"""


def vector_add_gb_s(n, itemsize, ms):
    return 3 * n / (ms * 1e-3) / 1e9
