"""The first sum is corrected in place.

step: merge
expect: failed
cause: input_modified
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    base = torch.where(m == float("-inf"), 0.0, m)
    l1 *= torch.exp(m1 - base)
    return m, l1 + l2 * torch.exp(m2 - base)
