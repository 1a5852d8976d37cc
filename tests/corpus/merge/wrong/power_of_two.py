"""exp2 in place of exp.

step: merge
expect: failed
cause: scale_wrong
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    base = torch.where(m == float("-inf"), 0.0, m)
    return m, l1 * torch.exp2(m1 - base) + l2 * torch.exp2(m2 - base)
