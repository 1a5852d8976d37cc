"""Only the smaller one is scaled.

step: merge
expect: passed
"""

import torch


def merge(m1, l1, m2, l2):
    first = m1 >= m2
    m, low = torch.where(first, m1, m2), torch.where(first, m2, m1)
    l, small = torch.where(first, l1, l2), torch.where(first, l2, l1)
    factor = torch.where(low == float("-inf"), 0.0, torch.exp(low - m))
    return m, l + small * factor
