"""Only the first sum is taken to the new maximum.

step: merge
expect: failed
cause: rescale_missing
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    base = torch.where(m == float("-inf"), 0.0, m)
    return m, l1 * torch.exp(m1 - base) + l2
