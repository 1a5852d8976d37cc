"""Calls a function of plain Python with given arguments and reports what it returned.

The values go through JSON with tags, of which autograder/values.py holds the other end. Like all
that this process reports they are a claim: the grader reads and judges them. Must never see the
values that are right.
"""

import json
import numbers
from pathlib import Path

import torch
import triton

from autograder.worker import loader
from autograder.worker.errors import describe_error
from autograder.worker.stopwatch import World
from autograder.worker.tuning import StandIn

MOST_BYTES = 2**20  # of all values together; what is larger is named by its type
DEEPEST = 8
LARGEST = 2**64
TOO_LARGE = {"object": "value too large to hand over"}


def report(job: dict, folder: Path) -> dict:
    """What each of `job["calls"]` returned or raised; `job["world"]` as in steps/calls.py."""
    world = World(job["world"])
    world.install()
    triton.runtime.driver.set_active(StandIn(None))  # configs are pruned by its limits
    told: dict = {"error": None, "outcomes": []}
    try:
        function = loader.load(job["code"], folder)
    except BaseException as error:  # noqa: BLE001 - whatever a submission raises, SystemExit too
        return {**told, "error": describe_error(error, folder)}
    most = MOST_BYTES // len(job["calls"])
    told["outcomes"] = [_outcome(function, call, world, folder, most) for call in job["calls"]]
    return told


def _outcome(function, call: dict, world: World, folder: Path, most: int) -> dict:
    configs: list = []
    arguments = [_build(a, world, configs) for a in call["arguments"]]
    named = {name: _build(a, world, configs) for name, a in call["named"].items()}
    given = [*arguments, *named.values()]
    before = [_snapshot(a, configs) for a in given]
    world.idle()
    try:
        value = _describe(function(*arguments, **named), configs)
        if len(json.dumps(value)) > most:
            value = TOO_LARGE
    except BaseException as error:  # noqa: BLE001 - as above
        described = describe_error(error, folder)
        return {"error": {**described, "message": described["message"][:300]}}
    same = [b == _snapshot(a, configs) for a, b in zip(given, before)]
    return {"error": None, "value": value, "changed": same.index(False) if False in same else -1}


def _build(told, world: World, configs: list):
    """An argument from its description. The configs that are made are added to `configs`."""
    if isinstance(told, list):
        return [_build(t, world, configs) for t in told]
    if not isinstance(told, dict):
        return told
    ((tag, inner),) = told.items()
    match tag:
        case "tuple":
            return tuple(_build(t, world, configs) for t in inner)
        case "dict":
            return {k: _build(t, world, configs) for k, t in inner}
        case "tensor":
            dtype = getattr(torch, inner["dtype"])
            return torch.tensor(inner["values"], dtype=dtype).reshape(inner["shape"])
        case "work":
            return world.work(**inner)
    made = [_config(entry) for entry in inner]
    configs += made
    return made


def _config(entry: dict) -> triton.Config:
    options = {name: entry[name] for name in ("num_warps", "num_stages") if name in entry}
    return triton.Config({k: v for k, v in entry.items() if k not in options}, **options)


def _snapshot(argument, configs: list):
    """Enough of an argument to see that it was changed; as text, since no NaN equals itself."""
    return json.dumps([_describe(argument, configs), [str(c) for c in configs]])


def _describe(value, configs: list, depth: int = 0):
    """A value as JSON; one that no step returns by the name of its type."""
    inner = depth + 1
    if depth <= DEEPEST:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, numbers.Integral):  # NumPy's as well
            return int(value) if abs(int(value)) < LARGEST else {"object": "int past 64 bits"}
        if isinstance(value, numbers.Real):
            return float(value)
        if isinstance(value, (list, tuple, dict)) and len(value) > MOST_BYTES:
            return TOO_LARGE
        if isinstance(value, list):
            return [_describe(v, configs, inner) for v in value]
        if isinstance(value, tuple):
            return {"tuple": [_describe(v, configs, inner) for v in value]}
        if isinstance(value, dict) and all(isinstance(k, str) for k in value):
            return {"dict": [[k, _describe(v, configs, inner)] for k, v in value.items()]}
        if isinstance(value, torch.Tensor):
            return _describe_tensor(value)
        if isinstance(value, triton.Config) and value in configs:
            return {"config": configs.index(value)}
    return {"object": type(value).__name__}


def _describe_tensor(tensor: torch.Tensor) -> dict:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.dtype not in (torch.float16, torch.float32, torch.float64, torch.int32, torch.int64, torch.bool):  # fmt: skip
        return {"object": f"tensor of {dtype}"}
    flat = tensor.detach().reshape(-1).tolist()
    return {"tensor": {"dtype": dtype, "shape": list(tensor.shape), "values": flat}}
