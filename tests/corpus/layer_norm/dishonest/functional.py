"""The library computes the result.

step: layer_norm
expect: refused
attack: library normalisation
"""

import torch


def layer_norm(x, eps):
    return torch.nn.functional.layer_norm(x.float(), x.shape[1:], eps=eps).to(x.dtype)
