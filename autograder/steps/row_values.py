"""Rows for the steps that reduce them: values that show a mistake, and how a row is cut in blocks.

Must never hold what a single step promises: its answers and bounds stand in the step's module.
"""

import numpy as np

from autograder.steps.case import Operand, expanded, normal

# What learners write for "minus infinity": each is larger than some finite number.
SENTINELS = (-1e4, -65504.0, -1e5, -1e6, -1e8, -1e9, -1e10, -1e20)


def levels(rng, rows: int, cols: int) -> np.ndarray:
    """Rows far apart from each other, so that one row's maximum is no use to another."""
    return (
        normal(rng, (rows, cols), "float32")
        + np.linspace(-500, 400, rows, dtype="float32")[:, None]
    )


def around(rng, level: float, rows: int, cols: int) -> np.ndarray:
    return level + 3 * normal(rng, (rows, cols), "float32")


def constant(cols: int) -> np.ndarray:
    """Rows of equal entries, one row lower than any sentinel that stands for -inf."""
    rows = np.array([-1e30, -7.5, 0.0, 1e30], "float32")
    return np.repeat(rows[:, None], cols, axis=1)


def with_holes(rng, rows: int, cols: int) -> np.ndarray:
    """A third of the entries -inf; the last row has a single finite entry."""
    x = normal(rng, (rows, cols), "float32")
    x[rng.random((rows, cols)) < 1 / 3] = -np.inf
    x[-1] = -np.inf
    x[np.arange(rows), rng.integers(0, cols, rows)] = 1.5
    return x


def first_far_above(rng, rows: int, cols: int) -> np.ndarray:
    """The first 16 entries 95 above the rest: exp(95) is too large for fp32."""
    x = normal(rng, (rows, cols), "float32")
    x[:, :16] += 95
    return x


def minus_infinity_first(rng, cols: int, blocks: tuple[int, ...]) -> np.ndarray:
    """Row i begins with blocks[i] entries of -inf: its first block holds nothing else.

    What follows is far below 0, so that a guard which takes 0 for the maximum does not do.
    """
    x = around(rng, -300, len(blocks), cols)
    for row, length in zip(x, blocks):
        row[:length] = -np.inf
    return x


def draw(rng, rows, cols, dtype="float32", layout="contiguous") -> np.ndarray:
    return (expanded if layout == "expanded" else normal)(rng, (rows, cols), dtype)


def one_far_off(rng, rows: int, cols: int) -> np.ndarray:
    """One entry of a row, not its first, 200 above the others; in every second row below them."""
    x = normal(rng, (rows, cols), "float32")
    places = rng.integers(1, cols, rows)
    x[np.arange(rows), places] += np.where(np.arange(rows) % 2, -200, 200)
    return x


def bfloat16(rng, rows: int, cols: int, factor: float = 1.0) -> np.ndarray:
    """Numbers that bfloat16 can hold, times a power of two."""
    return normal(rng, (rows, cols), "bfloat16") * np.float32(factor)


def size_of(x: Operand) -> dict:
    rows, cols = x.values.shape
    size = {"R": rows, "C": cols, "dtype": x.dtype}
    return size if x.layout == "contiguous" else size | {"x": x.layout}


def next_power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length()


def padded_widths(cols: int, tile: int) -> set[int]:
    """How wide a row is with its masked lanes: whole tiles, or the next power of two."""
    return {-(-cols // tile) * tile, next_power_of_2(cols)}


def blocks_of(cols: int, tile: int) -> list[slice]:
    return [slice(start, min(start + tile, cols)) for start in range(0, cols, tile)]
