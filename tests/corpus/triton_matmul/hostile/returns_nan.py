"""The result is all NaN, which compares false with everything.

step: triton_matmul
expect: failed|refused
attack: NaN in the hope that the comparison ignores it
"""

import torch


def triton_matmul(a, b):
    return torch.full((a.shape[0], b.shape[1]), float("nan"), dtype=a.dtype, device=a.device)
