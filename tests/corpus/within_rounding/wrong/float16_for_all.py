"""The unit roundoff of float16 is used for every type.

step: within_rounding
expect: failed
cause: tolerance_too_loose
"""

import torch


def within_rounding(c, a, b):
    a, b = a.double(), b.double()
    exact = a @ b
    size = a.abs() @ b.abs()
    u = 2**-11
    bound = u * exact.abs() + 4 * 2**-24 * a.shape[1] ** 0.5 * size
    return bool(((c.double() - exact).abs() <= bound).all())
