"""The sum may be as bad as one in the type of the result.

step: within_rounding
expect: failed
cause: tolerance_too_loose
"""

import torch


def within_rounding(c, a, b):
    a, b = a.double(), b.double()
    exact = a @ b
    size = a.abs() @ b.abs()
    u = torch.finfo(c.dtype).eps / 2
    bound = u * exact.abs() + 4 * u * a.shape[1] ** 0.5 * size
    return bool(((c.double() - exact).abs() <= bound).all())
