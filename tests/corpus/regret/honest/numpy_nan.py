"""NumPy, with NaN for what did not run.

step: regret
expect: passed
"""

import numpy as np


def regret(times, kept):
    there = np.array(times, dtype=float)
    left = there[np.array(kept, dtype=int)]
    if np.isnan(left).all():
        return np.inf
    return np.nanmin(left) / np.nanmin(there) - 1.0
