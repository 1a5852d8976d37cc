"""torch.softmax does the whole step.

step: online_softmax
expect: refused
attack: library softmax in place of a kernel
"""

import torch


def online_softmax(x):
    return torch.softmax(x.float(), dim=1).to(x.dtype)
