"""As the solution.

step: merge
expect: passed
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    base = torch.where(m == float("-inf"), 0.0, m)
    return m, l1 * torch.exp(m1 - base) + l2 * torch.exp(m2 - base)
