"""Guarded memory: one sealed region that holds a case's operands and the place for its result.

Every operand lies between margins of NaN, and gaps between its rows are NaN too, so that a read
outside the tensor poisons the answer and a write outside it can be seen afterwards. The worker
maps the region and is told the layout; the grader alone keeps a copy of what it wrote.
Must never be imported by the worker, and never trust a number that the worker sends back.
"""

import fcntl
import math
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np

from autograder import formats
from autograder.shared import MARGIN, UNWRITTEN
from autograder.steps.case import Case, Operand, leading_axis

PADDING = 16  # elements added to each row of a padded operand
ALIGNMENT = 64  # bytes


@dataclass(frozen=True)
class Placement:
    """Where an operand lies: byte offset and length of its storage, and its view in elements."""

    name: str
    dtype: str
    start: int
    elements: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = MARGIN


def _strides(operand: Operand) -> tuple[int, ...]:
    shape = operand.values.shape
    match operand.layout:
        case "contiguous":
            return dense(shape)
        case "transposed":
            *outer, row, column = dense((*shape[:-2], shape[-1], shape[-2]))
            return (*outer, column, row)
        case "padded":
            return dense((*shape[:-1], shape[-1] + PADDING))
        case "sliced" if len(shape) == 1:
            return (2,)
        case "sliced":
            *outer, row, _ = dense((*shape[:-2], 2 * shape[-2], 2 * shape[-1] + 2))
            return (*outer, 2 * row, 2)
        case "bnhd":
            _, heads, rows, cols = shape
            return (rows * heads * cols, cols, heads * cols, 1)
        case "single":
            return (0,) * len(shape)
        case "expanded" | "far":
            axis, strides = leading_axis(shape), list(dense(shape))
            strides[axis] = 0
            if operand.layout == "far":
                strides[axis] = -(-(2**31) // (shape[axis] - 1))
            return tuple(strides)
        case other:
            raise ValueError(f"unknown layout {other!r}")


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a row-major array of that shape."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return sum((n - 1) * s for n, s in zip(shape, strides)) + 1 if all(shape) else 0


def lay_out(operand: Operand, fill: float = np.nan) -> tuple[np.ndarray, tuple[int, ...]]:
    """The operand's storage, margins and gaps filled, and its strides in elements.

    Element [0, 0] stands at index MARGIN. Not for the layout `far`, which is too large to hold.
    """
    values = operand.values
    strides = _strides(operand)
    span = _span(values.shape, strides)
    nothing = fill if values.dtype.kind == "f" else np.iinfo(values.dtype).max
    storage = np.full(span + 2 * MARGIN, nothing, values.dtype)
    _view(storage, values.shape, strides)[...] = values
    return storage, strides


def _view(storage: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    byte_strides = tuple(s * storage.itemsize for s in strides)
    return np.lib.stride_tricks.as_strided(storage[MARGIN:], shape, byte_strides)


def _segments(operand: Operand, fill: float):
    """[(first element, contents)] of each part of the storage that is filled, strides, elements.

    Entries that lie far apart are parts of their own; what lies between is a hole in the file and
    takes no memory.
    """
    if operand.layout != "far":
        storage, strides = lay_out(operand, fill)
        return [(0, formats.encode(storage, operand.dtype))], strides, storage.size
    strides = _strides(operand)
    values = formats.encode(operand.values, operand.dtype)
    axis = leading_axis(values.shape)
    parts = [
        (MARGIN + i * strides[axis], part.reshape(-1))
        for i, part in enumerate(np.moveaxis(values, axis, 0))
    ]
    return parts, strides, _span(values.shape, strides) + 2 * MARGIN


@contextmanager
def nothing() -> Iterator[int]:
    """The descriptor of an arena without memory, for runs whose account is all they leave."""
    fd = os.memfd_create("autograder-nothing", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


class Arena:
    """The memory of one case. Use as a context manager; `fd` is what the worker receives.

    `before` are cases that the same process runs first; their results are not kept. `fill` is
    what lies in margins and gaps of floating-point operands.
    """

    def __init__(self, case: Case, before: tuple[Case, ...] = (), fill: float = np.nan):
        self.case = case
        self.placements: list[Placement] = []
        self._images: list[list[tuple[int, np.ndarray]]] = []
        end = 0
        self._calls = (case, *before)
        for operand in [operand for call in self._calls for operand in call.tensors]:
            segments, strides, elements = _segments(operand, fill)
            dtype, shape = operand.dtype, operand.values.shape
            self._images.append(segments)
            self.placements.append(Placement(operand.name, dtype, end, elements, shape, strides))
            end += -(-elements * formats.itemsize(dtype) // ALIGNMENT) * ALIGNMENT
        self.result_start = end
        self.result_bytes = case.expected.size * formats.itemsize(case.dtype)
        self.size = end + max(self.result_bytes, ALIGNMENT)

        self.fd = os.memfd_create("autograder-arena", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(self.fd, self.size)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        with mmap.mmap(self.fd, self.size) as memory:
            for placement, segments in zip(self.placements, self._images):
                for first, contents in segments:
                    start = placement.start + first * contents.itemsize
                    memory[start : start + contents.nbytes] = contents.tobytes()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def describe(self) -> dict:
        """What the worker may know: layouts, and where the result's bytes go."""
        places = iter([asdict(p) for p in self.placements])
        operands, *before = [[next(places) for _ in call.tensors] for call in self._calls]
        result, *gradients = self._places_of_parts()
        return {
            "size": self.size,
            "operands": operands,
            "before": before,
            "result": result,
            "backward": self._backward(gradients),
        }

    def _places_of_parts(self) -> list[dict]:
        """Where the result and each gradient belong: one after the other, rows first."""
        start, places = self.result_start, []
        for shape in self.case.parts.values():
            places.append({"start": start, "shape": list(shape), "dtype": self.case.dtype})
            start += math.prod(shape) * formats.itemsize(self.case.dtype)
        return places

    def _backward(self, gradients: list[dict]) -> dict | None:
        """Which operands want a gradient, by index; the last tensor of a call is what goes in."""
        backward = self.case.backward
        if backward is None:
            return None
        names = [operand.name for operand in self.case.operands]
        wanted = [names.index(name) for name in backward.wanted]
        return {"wanted": wanted, "calls": backward.calls, "gradients": gradients}

    def result(self) -> np.ndarray:
        """The bytes that the worker left, read in the layout that the grader chose."""
        data = os.pread(self.fd, self.result_bytes, self.result_start)
        return formats.decode(data, self.case.dtype).reshape(self.case.expected.shape)

    def unwritten(self) -> np.ndarray:
        """Which elements of the result still look as the submission's allocation did."""
        data = os.pread(self.fd, self.result_bytes, self.result_start)
        bits = np.frombuffer(data, f"u{formats.itemsize(self.case.dtype)}")
        return (bits == UNWRITTEN[self.case.dtype]).reshape(self.case.expected.shape)

    def changed(self) -> dict[str, str]:
        """Operands that are no longer as they were: name → `values` or `margin`."""
        found = {}
        for placement, segments in zip(self.placements, self._images):
            for first, image in segments:
                start = placement.start + first * image.itemsize
                data = os.pread(self.fd, image.nbytes, start)
                if data == image.tobytes():
                    continue
                bits = f"u{image.itemsize}"  # NaN differs from itself: compare bit patterns
                different = np.frombuffer(data, bits) != image.view(bits)
                if len(segments) == 1:
                    different = _view(different, placement.shape, placement.strides)
                found[placement.name] = "values" if different.any() else "margin"
        return found
