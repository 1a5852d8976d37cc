"""torch.softmax does the whole step.

step: softmax
expect: refused
attack: library softmax in place of a kernel
"""

import torch


def softmax(x):
    return torch.softmax(x, dim=1)
