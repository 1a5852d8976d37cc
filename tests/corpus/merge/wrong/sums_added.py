"""The two sums are added as if they had one unit.

step: merge
expect: failed
cause: rescale_missing
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    return m, l1 + l2
