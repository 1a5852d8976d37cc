"""The result is rounded to whole GB/s.

step: vector_add_gb_s
expect: failed
cause: traffic_miscounted|unit_wrong
"""


def vector_add_gb_s(n, itemsize, ms):
    return float(round(3 * n * itemsize / (ms * 1e-3) / 1e9))
