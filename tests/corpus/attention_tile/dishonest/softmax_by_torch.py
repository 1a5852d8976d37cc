"""The products and the softmax by torch operators.

step: attention_tile
expect: refused
attack: the work done by torch operators
"""

import torch


def attention_tile(q, k, v):
    weights = torch.softmax(q.float() @ k.float().mT * q.shape[1] ** -0.5, -1)
    return (weights @ v.float()).to(q.dtype)
