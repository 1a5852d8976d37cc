"""The operator is fetched below the Python functions of torch.

step: triton_matmul
expect: refused
attack: torch.ops.aten.mm called directly
"""

import torch


def triton_matmul(a, b):
    return torch.ops.aten.mm.default(a.float(), b.float()).to(a.dtype)
