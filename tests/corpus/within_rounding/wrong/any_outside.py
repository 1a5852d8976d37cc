"""It is asked whether an error is outside, and NaN is not.

step: within_rounding
expect: failed
cause: nan_accepted
"""

import torch


def within_rounding(c, a, b):
    a, b = a.double(), b.double()
    exact = a @ b
    size = a.abs() @ b.abs()
    u = torch.finfo(c.dtype).eps / 2
    bound = u * exact.abs() + 4 * 2**-24 * a.shape[1] ** 0.5 * size
    return not bool(((c.double() - exact).abs() > bound).any())
