"""The formula in PyTorch's operators.

step: softmax_backward
expect: refused
attack: the library in place of the kernel
"""

import torch


def softmax_backward(y, dy):
    y32, dy32 = y.float(), dy.float()
    return (y32 * (dy32 - (y32 * dy32).sum(1, keepdim=True))).to(y.dtype)
