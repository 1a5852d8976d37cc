"""All powers of ten in one.

step: vector_add_gb_s
expect: passed
"""


def vector_add_gb_s(n, itemsize, ms):
    return 3 * n * itemsize / ms / 1e6
