"""The error is compared with the result itself, which may be near zero.

step: within_rounding
expect: failed
cause: tolerance_not_scaled
"""

import torch


def within_rounding(c, a, b):
    a, b = a.double(), b.double()
    exact = a @ b
    size = a.abs() @ b.abs()
    u = torch.finfo(c.dtype).eps / 2
    bound = 1e-5 * exact.abs()
    return bool(((c.double() - exact).abs() <= bound).all())
