"""The same in NumPy, which is welcome where there is no kernel.

step: within_rounding
expect: passed
"""

import numpy as np


def within_rounding(c, a, b):
    u = np.finfo(c.numpy().dtype).eps / 2
    a, b = a.numpy().astype(float), b.numpy().astype(float)
    error = np.abs(c.numpy().astype(float) - a @ b)
    bound = u * np.abs(a @ b) + 2.0**-22 * np.sqrt(a.shape[1]) * (np.abs(a) @ np.abs(b))
    return bool(np.all(error <= bound))
