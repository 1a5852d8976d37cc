"""What a kernel would read from an operand's memory if it got the strides wrong.

Used by the hypotheses of every family. Must never decide a verdict: an answer that matches one of
these is already known to be wrong.
"""

import numpy as np

from autograder.arena import lay_out
from autograder.shared import MARGIN
from autograder.steps.case import Operand


def read(operand: Operand, strides: tuple[int, int]) -> np.ndarray:
    """The operand's shape read from its real memory with other strides (in elements).

    What lies outside the storage comes back as NaN, as it does for the kernel.
    """
    storage, _ = lay_out(operand)
    rows, cols = operand.values.shape
    index = MARGIN + np.arange(rows)[:, None] * strides[0] + np.arange(cols)[None, :] * strides[1]
    inside = index < storage.size
    return np.where(inside, storage[np.where(inside, index, 0)], storage[0]).astype(np.float64)


def as_contiguous(operand: Operand) -> np.ndarray:
    """Strides never looked at: row stride = number of columns, column stride 1."""
    return read(operand, (operand.values.shape[1], 1))


def with_unit_column_stride(operand: Operand) -> np.ndarray:
    """Row stride used, column stride taken as 1."""
    _, strides = lay_out(operand)
    return read(operand, (strides[0], 1))


def with_swapped_strides(operand: Operand) -> np.ndarray:
    """The two strides exchanged."""
    _, strides = lay_out(operand)
    return read(operand, strides[::-1])


def with_columns(operand: Operand, cols: int) -> np.ndarray:
    """Rows read with the right strides but too far: `cols` elements of each."""
    storage, strides = lay_out(operand)
    rows = operand.values.shape[0]
    index = MARGIN + np.arange(rows)[:, None] * strides[0] + np.arange(cols)[None, :] * strides[1]
    return storage[np.minimum(index, storage.size - 1)].astype(np.float64)
