"""A thousandth is allowed, whatever the numbers.

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
    bound = u * exact.abs() + 4 * 2**-24 * a.shape[1] ** 0.5 * size
    return torch.allclose(c.double(), exact, rtol=1e-3, atol=1e-3)
