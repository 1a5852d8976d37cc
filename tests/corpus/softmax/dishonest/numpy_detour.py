"""NumPy computes the softmax of the tensor's memory.

step: softmax
expect: refused
attack: NumPy in place of a kernel
"""

import numpy as np
import torch


def softmax(x):
    a = x.cpu().numpy().astype(np.float32)
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return torch.from_numpy(e / e.sum(axis=1, keepdims=True)).to(x.device, x.dtype)
