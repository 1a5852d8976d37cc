"""NumPy multiplies.

step: naive_matmul
expect: refused
attack: a detour over NumPy
"""

import numpy as np
import torch


def naive_matmul(a, b):
    return torch.from_numpy(np.asarray(a.float()) @ np.asarray(b.float()))
