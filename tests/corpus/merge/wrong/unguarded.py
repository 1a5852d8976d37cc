"""Two empty parts make -inf - (-inf).

step: merge
expect: failed
cause: empty_block
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    return m, l1 * torch.exp(m1 - m) + l2 * torch.exp(m2 - m)
