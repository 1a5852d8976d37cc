"""The library function's name is put together at run time.

step: triton_matmul
expect: refused
attack: a name no search for text finds
"""

import torch


def triton_matmul(a, b):
    product = getattr(torch, "mat" + "mul")
    return product(a.float(), b.float()).to(a.dtype)
