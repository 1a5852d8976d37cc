"""The norm of the error is compared with that of the result.

step: within_rounding
expect: failed
cause: elements_averaged|tolerance_not_scaled
"""

import torch


def within_rounding(c, a, b):
    a, b = a.double(), b.double()
    exact = a @ b
    size = a.abs() @ b.abs()
    u = torch.finfo(c.dtype).eps / 2
    bound = u * exact.abs() + 4 * 2**-24 * a.shape[1] ** 0.5 * size
    return bool((c.double() - exact).norm() <= 2 * u * exact.norm() + 1e-6 * exact.norm())
