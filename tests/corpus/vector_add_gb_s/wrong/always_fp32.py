"""Every number is taken to have 4 bytes.

step: vector_add_gb_s
expect: failed
cause: traffic_miscounted
"""


def vector_add_gb_s(n, itemsize, ms):
    return 12 * n / (ms * 1e-3) / 1e9
