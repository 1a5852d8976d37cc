"""In float64, and back.

step: merge
expect: passed
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2).double()
    base = torch.where(m == float("-inf"), torch.zeros_like(m), m)
    total = l1.double() * torch.exp(m1.double() - base) + l2.double() * torch.exp(
        m2.double() - base
    )
    return m.float(), total.float()
