"""A loop over rows that stops at the first wrong one.

step: within_rounding
expect: passed
"""

import torch


def within_rounding(c, a, b):
    u = 2**-11 if c.dtype == torch.float16 else 2**-24
    factor = 2**-22 * a.shape[1] ** 0.5
    b = b.double()
    for got, row in zip(c.double(), a.double()):
        exact = row @ b
        bound = u * exact.abs() + factor * (row.abs() @ b.abs())
        if not torch.all(torch.abs(got - exact) <= bound):
            return False
    return True
