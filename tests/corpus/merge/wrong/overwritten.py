"""The second part replaces the first.

step: merge
expect: failed
cause: accumulator_overwritten
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    base = torch.where(m == float("-inf"), 0.0, m)
    return m, l2 * torch.exp(m2 - base)
