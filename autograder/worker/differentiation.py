"""Calls a step's function as a case asks for it: forward, and backward where gradients are wanted.

`backward` is what the arena says of it: `wanted`, the operands by index, and `calls`; the last
tensor is then the gradient of the result. Must never see an expected value.
"""

import contextlib

import torch

# What `torch.autograd.grad` ends in, as it was before a submission could exchange it. The function
# itself imports sympy for shapes that are symbols, which would make every fork of a run dearer.
_run_backward = torch.autograd.Variable._execution_engine.run_backward


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
    wanted = tuple(operands[index] for index in backward["wanted"])
    for _ in range(backward["calls"]):
        found = _run_backward(
            (result,),
            (gradient,),
            backward["calls"] > 1,  # keep the graph
            False,  # make none of the gradients
            wanted,
            allow_unreachable=True,  # None for an operand that the result does not depend on
            accumulate_grad=False,
        )
    return list(found)
