"""Three Python loops make the product and torch.tensor brings it back.

step: tile_matmul
expect: refused
attack: no kernel: plain Python arithmetic
"""

import torch


def tile_matmul(a, b):
    columns = list(zip(*b.tolist(), strict=True))
    rows = [[sum(x * y for x, y in zip(r, c, strict=True)) for c in columns] for r in a.tolist()]
    return torch.tensor(rows, device=a.device, dtype=torch.float32)
