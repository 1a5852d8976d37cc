"""The inputs are zeroed, margins and all, and zeros come back.

step: vector_add
expect: failed|refused|error|crashed
attack: inputs changed so that a shared reference agrees
"""

import torch


def vector_add(x, y):
    for tensor in (x, y):
        tensor.zero_()
    return torch.zeros_like(x)
