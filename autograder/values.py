"""Values that cross the border between grader and worker: written, read, compared and shown.

JSON with tags, so that a tuple stays a tuple; worker/calls.py holds the other end. Reading is
strict, since a submission may have written it. Must never raise but for what cannot be read.
"""

import math
import reprlib
from typing import Any

import numpy as np

from autograder.steps.calls import Chosen, Configs, Work

DEEPEST = 8  # lists in lists
LARGEST = 2**64  # of an int's absolute value
LONGEST = 24  # a tensor with more elements is shown by its shape
TENSORS = ("float16", "float32", "float64", "int32", "int64", "bool")


class Foreign:
    """A value of a type that no step returns: all that is known is what it is called."""

    def __init__(self, name: str):
        self.name = name


def write(value) -> Any:
    """A value as JSON for the worker."""
    match value:
        case list():
            return [write(v) for v in value]
        case tuple():
            return {"tuple": [write(v) for v in value]}
        case dict():
            return {"dict": [[k, write(v)] for k, v in value.items()]}
        case np.ndarray():
            shape, flat = list(value.shape), value.reshape(-1).tolist()
            return {"tensor": {"dtype": value.dtype.name, "shape": shape, "values": flat}}
        case Configs():
            return {"configs": list(value.entries)}
        case Work():
            return {"work": {"milliseconds": list(value.milliseconds), "again": value.again}}
    return value


def read(told, depth: int = 0) -> Any:
    """A value that the worker sent. Raises ValueError, TypeError or KeyError for anything else."""
    if depth > DEEPEST:
        raise ValueError("too deep")
    if told is None or type(told) in (bool, float, str):
        return told
    if type(told) is int:
        if abs(told) >= LARGEST:
            raise ValueError("too large")
        return told
    if type(told) is list:
        return [read(v, depth + 1) for v in told]
    ((tag, inner),) = told.items()
    match tag:
        case "tuple" if type(inner) is list:
            return tuple(read(v, depth + 1) for v in inner)
        case "dict" if type(inner) is list:
            return {str(k): read(v, depth + 1) for k, v in inner}
        case "config" if type(inner) is int:
            return Chosen(inner)
        case "object" if type(inner) is str:
            return Foreign("".join(c for c in inner[:100] if c.isprintable()))
        case "tensor" if inner["dtype"] in TENSORS:
            return np.array(inner["values"], dtype=inner["dtype"]).reshape(inner["shape"])
    raise ValueError("no value")


def difference(actual, expected, relative: float) -> tuple[str, str] | None:
    """How a value differs from the one expected: ("type" or "value", a remark or ""), or None."""
    if isinstance(expected, np.ndarray):
        return _tensors_differ(actual, expected, relative)
    as_good = type(actual) is int and type(expected) is float
    if type(actual) is not type(expected) and not as_good:
        missing = "; is a `return` missing?" if actual is None else ""
        return "type", f"{_kind(actual)} stands where {_kind(expected)} belongs{missing}"
    if isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            kind = "type" if isinstance(expected, tuple) else "value"
            return kind, f"{_count(len(actual))}, where {_count(len(expected))} belong"
        found = [difference(a, e, relative) for a, e in zip(actual, expected)]
        found = [f for f in found if f]
        return min(found, default=None)  # a wrong type says more than a wrong value
    if type(expected) is dict:
        if actual.keys() != expected.keys():
            return "value", "the keys differ"
        found = [difference(actual[k], e, relative) for k, e in expected.items()]
        return min((f for f in found if f), default=None)
    if type(expected) is float:
        close = abs(actual - expected) <= relative * abs(expected) < math.inf
        return None if close or actual == expected else ("value", "")
    return None if actual == expected else ("value", "")


def _tensors_differ(actual, expected: np.ndarray, relative: float) -> tuple[str, str] | None:
    if not isinstance(actual, np.ndarray):
        return "type", f"{_kind(actual)} stands where a tensor belongs"
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        are = f"{actual.dtype.name} of shape {actual.shape}"
        return "type", f"a tensor of {are}, where {expected.dtype.name} of {expected.shape} belongs"
    with np.errstate(invalid="ignore", over="ignore"):
        one, other = actual.astype(np.float64), expected.astype(np.float64)
        # NaN is never right; it may be what a known mistake gives.
        nothing = np.isnan(one) & np.isnan(other)
        near = np.isfinite(other) & (np.abs(one - other) <= relative * np.abs(other))
        close = (one == other) | near | nothing
    return None if close.all() else ("value", "")


def _kind(value) -> str:
    """ "an int": the type in words."""
    if isinstance(value, Foreign):
        return _article(value.name)
    names = {type(None): "None", np.ndarray: "a tensor", Chosen: "a config"}
    return names.get(type(value)) or _article(type(value).__name__)


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'aeio' else 'a'} {name}"


def _count(number: int) -> str:
    return "1 value" if number == 1 else f"{number} values"


# --- words ------------------------------------------------------------------------------------


class _Short(reprlib.Repr):
    """Values as Python writes them, long ones cut."""

    def __init__(self):
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = 8
        self.maxstring = self.maxother = 60

    def repr_float(self, value, level):
        return f"{value:.10g}" if value % 1 else repr(value)

    def repr_ndarray(self, value, level):
        if value.size > LONGEST:
            return f"<{'×'.join(map(str, value.shape))} {value.dtype.name}>"
        return f"tensor({self.repr1(value.tolist(), level)})"

    def repr_Foreign(self, value, level):
        return _kind(value)

    def repr_Chosen(self, value, level):
        return f"configs[{value.index}]"

    def repr_Configs(self, value, level):
        return "configs"

    def repr_Work(self, value, level):
        return value.name


def shown(value) -> str:
    """A value as a beginner would write it, at most a line of it."""
    return _Short().repr(value).replace("`", "'")


def shown_call(name: str, arguments: tuple, named: dict) -> str:
    """ "group_major(5, 3, 4, 2)"."""
    parts = [shown(a) for a in arguments] + [f"{k}={shown(v)}" for k, v in named.items()]
    return f"{name}({', '.join(parts)})"
