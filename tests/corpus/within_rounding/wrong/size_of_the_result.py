"""The size of the sum is that of its result and not of its terms.

step: within_rounding
expect: failed
cause: tolerance_not_scaled
"""

import torch


def within_rounding(c, a, b):
    a, b = a.double(), b.double()
    exact = a @ b
    size = (a @ b).abs()
    u = torch.finfo(c.dtype).eps / 2
    bound = u * exact.abs() + 4 * 2**-24 * a.shape[1] ** 0.5 * size
    return bool(((c.double() - exact).abs() <= bound).all())
