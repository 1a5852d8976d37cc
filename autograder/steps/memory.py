"""What a kernel would read from an operand's memory if it got the strides wrong.

Used by the hypotheses of every family. Must never decide a verdict: an answer that matches one of
these is already known to be wrong.
"""

from collections.abc import Iterator

import numpy as np

from autograder.arena import dense, lay_out
from autograder.shared import MARGIN
from autograder.steps.case import Operand


def read(operand: Operand, strides: tuple[int, ...], first: int = 0) -> np.ndarray:
    """The operand's shape read from its real memory with other strides, from element `first` on.

    What lies outside the storage comes back as NaN, as it does for the kernel.
    """
    storage, _ = lay_out(operand)
    axes = np.ogrid[tuple(slice(n) for n in operand.values.shape)]
    index = MARGIN + first + sum(axis * stride for axis, stride in zip(axes, strides))
    inside = index < storage.size
    return np.where(inside, storage[np.where(inside, index, 0)], storage[0]).astype(np.float64)


def as_contiguous(operand: Operand) -> np.ndarray:
    """Strides never looked at: those of a row-major tensor of that shape."""
    return read(operand, dense(operand.values.shape))


def with_unit_column_stride(operand: Operand) -> np.ndarray:
    """Only the last stride taken as 1."""
    _, strides = lay_out(operand)
    return read(operand, (*strides[:-1], 1))


def with_swapped_strides(operand: Operand) -> np.ndarray:
    """The last two strides exchanged."""
    _, strides = lay_out(operand)
    return read(operand, (*strides[:-2], strides[-1], strides[-2]))


def misread(operand: Operand) -> Iterator[tuple[str, np.ndarray]]:
    """(cause, what is read) for the usual slips with the strides of a matrix."""
    yield "stride_ignored", as_contiguous(operand)
    yield "stride_ignored", with_unit_column_stride(operand)
    yield "strides_swapped", with_swapped_strides(operand)


def with_columns(operand: Operand, cols: int) -> np.ndarray:
    """Rows read with the right strides but too far: `cols` elements of each."""
    storage, strides = lay_out(operand)
    rows = operand.values.shape[0]
    index = MARGIN + np.arange(rows)[:, None] * strides[0] + np.arange(cols)[None, :] * strides[1]
    return storage[np.minimum(index, storage.size - 1)].astype(np.float64)


def strides_of(operand: Operand) -> tuple[int, ...]:
    """The operand's strides in elements."""
    return lay_out(operand)[1]
