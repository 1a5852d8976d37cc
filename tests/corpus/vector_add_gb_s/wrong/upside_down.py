"""The quotient is upside down.

step: vector_add_gb_s
expect: failed
cause: quotient_inverted
"""


def vector_add_gb_s(n, itemsize, ms):
    return ms * 1e-3 * 1e9 / (3 * n * itemsize)
