"""A sum over the three vectors.

step: vector_add_gb_s
expect: passed
"""


def vector_add_gb_s(n, itemsize, ms):
    return sum(n * itemsize for _ in ("x", "y", "out")) * 1e-6 / ms
