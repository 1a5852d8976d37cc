"""Calls a step's function as a case asks for it: forward, and backward where gradients are wanted.

`backward` is what the arena says of it: `wanted`, the operands by index, and `calls`; the last
tensor is then the gradient of the result. Must never see an expected value.
"""

import contextlib

import torch
from torch.autograd import grad  # as it was before a submission could exchange it


def prepare() -> None:
    """Loads what `torch.autograd.grad` imports when it is first called, so that no run has to."""
    import torch.fx.experimental.symbolic_shapes  # noqa: F401


def forward(function, tensors: list[torch.Tensor], backward: dict | None, more, named):
    """What the function returns. Operands whose gradient is wanted require one from here on."""
    if backward is None:
        return function(*tensors, *more, **named)
    operands = tensors[:-1]
    for index in backward["wanted"] or range(len(operands)):
        operands[index].requires_grad_()
    with contextlib.nullcontext() if backward["wanted"] else torch.no_grad():
        return function(*operands, *more, **named)


def gradients(result, tensors: list[torch.Tensor], backward: dict | None) -> list:
    """The gradients wanted, None where there is none; no list entries where none can be asked for."""
    if backward is None or not backward["wanted"]:
        return []
    *operands, gradient = tensors
    if type(result) is not torch.Tensor or not result.requires_grad:
        return []
    if result.shape != gradient.shape or result.dtype != gradient.dtype:
        return []
    wanted = [operands[index] for index in backward["wanted"]]
    options = {"retain_graph": backward["calls"] > 1, "allow_unused": True}
    for _ in range(backward["calls"]):
        found = grad(result, wanted, gradient, **options)
    return list(found)
