"""The bound of the chapter, element by element.

step: within_rounding
expect: passed
"""

import torch


def within_rounding(c, a, b):
    a, b = a.double(), b.double()
    exact = a @ b
    size = a.abs() @ b.abs()
    u = torch.finfo(c.dtype).eps / 2
    bound = u * exact.abs() + 4 * 2**-24 * a.shape[1] ** 0.5 * size
    return bool(((c.double() - exact).abs() <= bound).all())
