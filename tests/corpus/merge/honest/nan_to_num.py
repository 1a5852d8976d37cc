"""The NaN of two empty parts is cleared away.

step: merge
expect: passed
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    a1 = torch.exp(m1 - m).nan_to_num(0.0)
    a2 = torch.exp(m2 - m).nan_to_num(0.0)
    return m, l1 * a1 + l2 * a2
