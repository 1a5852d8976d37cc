"""One element, expanded to an enormous shape: its number of elements passes 2**60.

step: triton_matmul
expect: failed|refused
attack: a result of the wrong size that no memory can hold
"""

import torch


def triton_matmul(a, b):
    return torch.zeros((1, 1), dtype=a.dtype).expand(2**30, 2**30)
