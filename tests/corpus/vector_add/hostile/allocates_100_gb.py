"""The function asks for 100 GB in one piece and fills it.

step: vector_add
expect: error|crashed
attack: huge allocation
"""

import torch


def vector_add(x, y):
    return torch.ones(25 * 10**9, dtype=torch.float32)[: x.numel()]
