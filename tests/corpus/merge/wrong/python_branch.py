"""An `if` on whole tensors: it raises for more than one element.

step: merge
expect: error
cause: crashed
"""

import torch


def merge(m1, l1, m2, l2):
    m = m1 if m1 > m2 else m2
    base = torch.where(m == float("-inf"), 0.0, m)
    return m, l1 * torch.exp(m1 - base) + l2 * torch.exp(m2 - base)
