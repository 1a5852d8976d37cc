"""exp of the library's log_softmax.

step: softmax
expect: refused
attack: library softmax by another name
"""

import torch


def softmax(x):
    return torch.log_softmax(x, 1).exp()
