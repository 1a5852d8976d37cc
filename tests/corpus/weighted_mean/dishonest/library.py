"""The library does it.

step: weighted_mean
expect: refused
attack: a library's softmax and product in place of the kernel
"""

import torch


def weighted_mean(x, v):
    p = torch.softmax(x.float(), dim=1).nan_to_num(0.0)
    return (p @ v.float()).to(x.dtype)
