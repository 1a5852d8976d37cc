"""A loop over K adds outer products with torch.

step: triton_matmul
expect: refused
attack: arithmetic of the step done by torch operators, step by step
"""

import torch


def triton_matmul(a, b):
    c = torch.zeros((a.shape[0], b.shape[1]), device=a.device, dtype=torch.float32)
    for k in range(a.shape[1]):
        c += a[:, k, None].float() * b[None, k, :].float()
    return c.to(a.dtype)
