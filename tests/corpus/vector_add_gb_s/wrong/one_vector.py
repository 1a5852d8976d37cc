"""One vector is counted.

step: vector_add_gb_s
expect: failed
cause: traffic_miscounted
"""


def vector_add_gb_s(n, itemsize, ms):
    return n * itemsize / (ms * 1e-3) / 1e9
