"""The library call hides from Python-level dispatch hooks by switching them off.

step: triton_matmul
expect: refused
attack: torch._C guards around a library product
"""

import torch


def triton_matmul(a, b):
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        return torch.mm(a.float(), b.float()).to(a.dtype)
