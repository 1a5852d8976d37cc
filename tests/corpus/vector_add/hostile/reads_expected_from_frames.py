"""Callers' frames and all live tensors are searched for an expected value to return.

step: vector_add
expect: failed|error|refused|crashed
attack: steals the answer, if the process holds it
"""

import gc
import sys

import torch


def vector_add(x, y):
    frame = sys._getframe()
    while frame := frame.f_back:
        for name, value in frame.f_locals.items():
            if "expect" in name or "reference" in name:
                return value
    shape = tuple(x.shape)
    for thing in gc.get_objects():
        if (
            type(thing) is torch.Tensor
            and tuple(thing.shape) == shape
            and thing is not x
            and thing is not y
        ):
            return thing
    return None
