"""The bound does not grow with the number of terms.

step: within_rounding
expect: failed
cause: tolerance_too_tight
"""

import torch


def within_rounding(c, a, b):
    a, b = a.double(), b.double()
    exact = a @ b
    size = a.abs() @ b.abs()
    u = torch.finfo(c.dtype).eps / 2
    bound = u * exact.abs() + 4 * 2**-24 * size
    return bool(((c.double() - exact).abs() <= bound).all())
