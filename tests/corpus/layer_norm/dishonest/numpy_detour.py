"""NumPy computes the result.

step: layer_norm
expect: refused
attack: detour over NumPy
"""

import numpy as np
import torch


def layer_norm(x, eps):
    wide = x.float().cpu().numpy()
    distance = wide - wide.mean(axis=1, keepdims=True)
    y = distance / np.sqrt((distance**2).mean(axis=1, keepdims=True) + eps)
    return torch.from_numpy(y).to(x.device, x.dtype)
