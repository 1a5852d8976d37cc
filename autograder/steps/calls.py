"""What a case of calls is: arguments, the values that are right, and how nearly they must be met.

For steps whose work is plain Python. Lives in the grader's process only. Must never hand `expected`
to the worker.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Configs:
    """An argument: a list of `triton.Config`. What a function keeps of it is `Chosen` by index.

    Each entry is a config's meta-parameters; `num_warps` and `num_stages` may be among them.
    """

    entries: tuple[dict, ...]


@dataclass(frozen=True)
class Chosen:
    """A value: the config with this index in the list that was given."""

    index: int


@dataclass(frozen=True)
class Work:
    """An argument: a function without arguments that keeps the case's device busy.

    `milliseconds` of its first, second, … call; after these every call takes what the last took.
    `again` is what a call takes whose predecessor on the device was a call of the same function, so
    that its data are still in the cache; None where that makes no difference. `name` is how a
    message shows the argument.
    """

    milliseconds: tuple[float, ...]
    again: float | None = None
    name: str = "fn"


@dataclass(frozen=True)
class Call:
    """One call: arguments by position and by keyword, and the value that is right.

    Values are None, bool, int, float, str, lists, tuples and dicts of these, NumPy arrays, which
    stand for tensors, `Configs` and `Work` among the arguments, and `Chosen` in the answer. Where an
    int is expected only an int is right; where a float is expected an int is as good.
    """

    arguments: tuple
    expected: Any
    named: dict = field(default_factory=dict)


@dataclass(frozen=True)
class CallCase:
    """Calls of the learner's function that stand or fall together: one check.

    name      what they are about, in a learner's words ("short last group")
    size      the numbers printed with it
    calls     made one after the other in one process
    relative  largest allowed relative error of a float
    world     "" or the device and the clock that the function finds: "gpu" or "cpu", both of
              worker/stopwatch.py
    remark    given the values of all calls, each of the type expected, a sentence on what they show
              together, or ""
    """

    name: str
    size: dict
    calls: tuple[Call, ...]
    relative: float = 0.0
    world: str = ""
    remark: Callable[[list], str] | None = None
    kind: str = "correctness"


@dataclass(frozen=True)
class CallTask:
    """How a step of calls is graded.

    cases      draws the battery, in the order it is run
    mistakes   (cause, function) for mistakes whose answers can be computed: the function takes what
               a call's takes and returns the wrong value, or raises where the mistake would
    otherwise  the cause when nothing else is recognised
    """

    cases: Callable[[np.random.Generator], list[CallCase]]
    mistakes: tuple[tuple[str, Callable], ...] = ()
    otherwise: str = "wrong_values"
    kernel: bool = field(default=False, init=False)  # as in Task


def calls_of(right: Callable, arguments: Iterable[tuple]) -> tuple[Call, ...]:
    """A call for each tuple of arguments; `right` computes what it must return."""
    return tuple(Call(a, right(*a)) for a in arguments)
