"""PyTorch does the arithmetic on the bits.

step: tf32_round
expect: refused
attack: bit operations by the library
"""

import torch


def tf32_round(x):
    bits = x.view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) >> 13 << 13).view(torch.float32)
