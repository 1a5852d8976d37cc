"""NumPy makes the product on the CPU.

step: triton_matmul
expect: refused
attack: NumPy in place of a kernel
"""

import numpy as np
import torch


def triton_matmul(a, b):
    left = a.cpu().numpy().astype(np.float32)
    right = b.cpu().numpy().astype(np.float32)
    return torch.from_numpy(left @ right).to(device=a.device, dtype=a.dtype)
