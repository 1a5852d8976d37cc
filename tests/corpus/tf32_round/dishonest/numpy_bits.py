"""NumPy does the arithmetic on the bits.

step: tf32_round
expect: refused
attack: detour over NumPy
"""

import numpy as np
import torch


def tf32_round(x):
    bits = x.cpu().numpy().view(np.uint32)
    bits = (bits + 0xFFF + ((bits >> 13) & 1)) >> 13 << 13
    return torch.from_numpy(bits.view(np.float32)).to(x.device)
