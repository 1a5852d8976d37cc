"""A run's own account of itself, checked at the border: from untrusted bytes to plain values.

Everything in it is evidence for a diagnosis and may be a lie; the values that calls returned are
the answers themselves, and a lie in them is a wrong answer. What is not exactly of the expected form
counts as no account at all. Must never raise, whatever the bytes are.
"""

import json
import os
from dataclasses import dataclass
from typing import Any

from autograder import values


@dataclass(frozen=True)
class Place:
    """A line of a cell's file; `filename` is empty where no learner's line is known."""

    filename: str = ""
    line: int = 0


@dataclass(frozen=True)
class Violation:
    """The first lanes of an access outside every tensor that the kernel was given."""

    access: str  # load, store or atomic
    argument: str  # the nearest tensor argument
    shape: tuple[int, ...]
    program: tuple[int, ...]
    bad_lanes: int
    lanes: int
    elements_off: int  # distance from the argument's first element
    place: Place


@dataclass(frozen=True)
class Launch:
    """One kernel launch: its grid, its integer constexprs, and which arguments it touched."""

    kernel: str
    grid: tuple[int, ...]
    constexprs: dict[str, int]
    loads: tuple[str, ...]
    stores: tuple[str, ...]


@dataclass(frozen=True)
class Refusal:
    """Work that was not the learner's kernel's: what did it, and what it was used as."""

    what: str
    used_as: str
    place: Place


@dataclass(frozen=True)
class Race:
    """Two programs that touch one element, at least one of them writing, in no given order."""

    argument: str
    kinds: tuple[str, ...]  # of the two accesses: store, load or atomic
    programs: tuple[tuple[int, ...], ...]
    place: Place


@dataclass(frozen=True)
class UntrueHint:
    """A hint to the compiler that a value breaks: `tl.<hint>(…, promised)`."""

    hint: str
    promised: tuple[int, ...]
    value: int
    program: tuple[int, ...]
    place: Place


@dataclass(frozen=True)
class Tuner:
    """An autotuned kernel: how many configs it has, if it prunes them, if it measured them in
    this call, which only the first call of a key does, and the one that ran."""

    kernel: str
    configs: int
    prunes: bool
    measured: bool
    chosen: str


@dataclass(frozen=True)
class Error:
    """An exception: its type and text, and the learner's line that raised it."""

    type: str
    message: str
    not_implemented: bool
    place: Place


@dataclass(frozen=True)
class Result:
    """What the function returned, or a gradient.

    `alias` is the index of the operand whose memory it is, or -1; `graph` is whether it knows how
    it was made, so that it can be differentiated.
    """

    type: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    contiguous: bool = False
    alias: int = -1
    graph: bool = False


@dataclass(frozen=True)
class Account:
    """Everything that a run tells. `stage` is how far it came: import, call, backward or result."""

    stage: str
    result: Result | None
    gradients: tuple[Result, ...]
    error: Error | None
    refusal: Refusal | None
    no_kernel: bool
    overrun: bool  # on a GPU: something beside a tensor of the submission's own was written
    violations: tuple[Violation, ...]
    unfilled: tuple[Place, ...]
    launches: tuple[Launch, ...]
    races: tuple[Race, ...]
    hints: tuple[UntrueHint, ...]
    tuners: tuple[Tuner, ...]
    loaded: int  # bytes, by kernels
    stored: int


@dataclass(frozen=True)
class Dot:
    """One dot of a kernel: its types and precision in the compiler's names (f16, f32; tf32)."""

    operand: str
    accumulator: str
    precision: str
    place: Place


@dataclass(frozen=True)
class Kernel:
    """What a compiler made of one kernel: bytes but for `registers`, which are per thread.

    `instructions` counts each one of the assembly; `listings` holds the code that was asked for.
    """

    name: str
    place: Place
    constants: dict[str, str]
    warps: int
    stages: int
    shared: int
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    instructions: dict[str, int]
    dots: tuple[Dot, ...]
    listings: dict[str, str]


@dataclass(frozen=True)
class Compiled:
    """The account of a compilation: kernels made, kernels refused, what the function raised, and the
    type of the device on which its result lies; operands lie on `meta`."""

    kernels: tuple[Kernel, ...]
    refusals: tuple[Error, ...]
    error: Error | None
    device: str = ""


@dataclass(frozen=True)
class Returned:
    """What a call returned. `changed` is the index of an argument that is not as it was, or -1."""

    value: Any
    changed: int


@dataclass(frozen=True)
class Called:
    """The account of calls: what each returned or raised, or why the function is not defined."""

    outcomes: tuple[Returned | Error, ...]
    error: Error | None


@dataclass(frozen=True)
class Contest:
    """The account of a timed run. `launched` are the submission's kernels, `kernels` all that a
    profiler saw on the GPU in one turn, whoever launched them."""

    stage: str
    error: Error | None
    refusal: Refusal | None
    launched: tuple[str, ...]
    kernels: tuple[str, ...]
    tuning_s: float


def parse(data: bytes, folder: str) -> Account | None:
    """The account in `data`, or None if it is not one; `folder` is where the run's cells lay."""
    try:
        return _account(json.loads(data), folder)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None


def parse_compiled(data: bytes, folder: str) -> Compiled | None:
    """As `parse`, for what worker/compiler.py reports."""
    try:
        told = json.loads(data)
        return Compiled(
            tuple(_kernel(k, folder) for k in told["kernels"]),
            tuple(_error(r, folder) for r in told["refusals"]),
            _error(told["error"], folder) if told["error"] else None,
            _text(told["device"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None


def parse_called(data: bytes, folder: str) -> Called | None:
    """As `parse`, for what worker/calls.py reports."""
    try:
        told = json.loads(data)
        return Called(
            tuple(_called(o, folder) for o in told["outcomes"]),
            _error(told["error"], folder) if told["error"] else None,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None


def parse_contest(data: bytes, folder: str) -> Contest | None:
    """As `parse`, for what worker/contest.py reports."""
    try:
        told = json.loads(data)
        return Contest(
            stage=_text(told["stage"]),
            error=_error(told["error"], folder) if told["error"] else None,
            refusal=_refusal({"used_as": "a result", **told["refusal"]}, folder)
            if told["refusal"]
            else None,
            launched=tuple(map(_text, told["launched"])),
            kernels=tuple(map(_text, told["kernels"])),
            tuning_s=max(0.0, float(told["tuning_s"])),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None


def _called(told: dict, folder: str) -> Returned | Error:
    if told["error"]:
        return _error(told["error"], folder)
    if type(told["changed"]) is not int:
        raise TypeError("a number was expected")
    return Returned(values.read(told["value"]), told["changed"])


def _kernel(told: dict, folder: str) -> Kernel:
    return Kernel(
        name=_label(told["name"]),
        place=_place(told, folder),
        constants={_label(n): _label(v) for n, v in told["constants"].items()},
        warps=_natural(told["warps"]) or 1,
        **{
            name: _natural(told[name])
            for name in ("stages", "shared", "registers", "stack", "spill_stores", "spill_loads")
        },
        instructions={_label(n): _natural(v) for n, v in told["instructions"].items()},
        dots=tuple(_dot(d, folder) for d in told["dots"]),
        listings={_label(n): _code(v) for n, v in told["listings"].items()},
    )


def _dot(told: dict, folder: str) -> Dot:
    types = (_label(told[name]) for name in ("operand", "accumulator", "precision"))
    return Dot(*types, _place(told, folder))


def _account(told: dict, folder: str) -> Account:
    return Account(
        stage=_text(told["stage"]),
        result=_result(told["result"]) if told.get("result") else None,
        gradients=tuple(map(_result, told["gradients"])),
        error=_error(told["error"], folder) if told.get("error") else None,
        refusal=_refusal(told["refusal"], folder) if told.get("refusal") else None,
        no_kernel=told["no_kernel"] is not False,
        overrun=told["overrun"] is not False,
        violations=tuple(_violation(v, folder) for v in told["violations"]),
        unfilled=tuple(_place(p, folder) for p in told["unfilled"]),
        launches=tuple(map(_launch, told["launches"])),
        races=tuple(_race(r, folder) for r in told["races"]),
        hints=tuple(_hint(h, folder) for h in told["hints"]),
        tuners=tuple(map(_tuner, told["tuners"])),
        loaded=int(told["loaded"]),
        stored=int(told["stored"]),
    )


def _result(told: dict) -> Result:
    if told["type"] != "Tensor":
        return Result(_text(told["type"]))
    return Result(
        "Tensor",
        _integers(told["shape"]),
        _text(told["dtype"]),
        told["contiguous"] is True,
        int(told["alias"]),
        told["graph"] is True,
    )


def _error(told: dict, folder: str) -> Error:
    return Error(
        _text(told["type"]),
        _text(told["message"]),
        told["not_implemented"] is True,
        _place(told, folder),
    )


def _refusal(told: dict, folder: str) -> Refusal:
    return Refusal(_text(told["what"]), _text(told["used_as"]), _place(told, folder))


def _violation(told: dict, folder: str) -> Violation:
    return Violation(
        _text(told["access"]),
        _text(told["argument"]),
        _integers(told["shape"]),
        _integers(told["program"]),
        int(told["bad_lanes"]),
        int(told["lanes"]),
        int(told["elements_off"]),
        _place(told, folder),
    )


def _launch(told: dict) -> Launch:
    return Launch(
        _text(told["kernel"]),
        _integers(told["grid"]),
        {_text(name): int(value) for name, value in told["constexprs"].items()},
        tuple(map(_text, told["loads"])),
        tuple(map(_text, told["stores"])),
    )


def _race(told: dict, folder: str) -> Race:
    return Race(
        _text(told["argument"]),
        tuple(map(_text, told["kinds"])),
        tuple(map(_integers, told["programs"])),
        _place(told, folder),
    )


def _hint(told: dict, folder: str) -> UntrueHint:
    return UntrueHint(
        _text(told["hint"]),
        _integers(told["promised"]),
        int(told["value"]),
        _integers(told["program"]),
        _place(told, folder),
    )


def _tuner(told: dict) -> Tuner:
    return Tuner(
        _text(told["kernel"]),
        int(told["configs"]),
        told["prunes"] is True,
        told["measured"] is True,
        _text(told["chosen"])[:200],
    )


def _place(told: dict, folder: str) -> Place:
    """A place inside the run's folder; any other file is not the learner's."""
    path, line = told["file"], told["line"]
    if not isinstance(path, str) or not path.startswith(folder + os.sep):
        return Place()
    return Place(path[len(folder) + 1 :], int(line))


def _integers(told: list) -> tuple[int, ...]:
    if not isinstance(told, list):
        raise TypeError("a list was expected")
    return tuple(map(int, told))


def _natural(told: int) -> int:
    if type(told) is not int or not 0 <= told < 2**31:
        raise ValueError("a number that is not negative was expected")
    return told


def _text(told: str) -> str:
    if not isinstance(told, str):
        raise TypeError("text was expected")
    return told


def _label(told: str) -> str:
    """A short name that can be shown on a terminal: no control characters."""
    return "".join(c for c in _text(told)[:100] if c.isprintable())


def _code(told: str) -> str:
    """Lines of code that can be shown on a terminal."""
    return "".join(c for c in _text(told) if c.isprintable() or c in "\n\t")
