"""Decimal arithmetic, a float at the end.

step: vector_add_gb_s
expect: passed
"""


def vector_add_gb_s(n, itemsize, ms):
    from decimal import Decimal

    return float(Decimal(3 * n * itemsize) / Decimal(ms) / Decimal(10) ** 6)
