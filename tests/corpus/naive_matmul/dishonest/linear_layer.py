"""A linear layer without bias multiplies.

step: naive_matmul
expect: refused
attack: torch.nn.functional.linear
"""

import torch.nn.functional as F


def naive_matmul(a, b):
    return F.linear(a.float(), b.T.float())
