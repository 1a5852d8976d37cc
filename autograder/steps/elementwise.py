"""Elementwise steps of chapter 4: `vector_add` and `scale_rows`.

Rounding is all the error a right kernel has: one operation in at least the input's precision.
"""

import numpy as np

from autograder.formats import itemsize
from autograder.steps import memory
from autograder.steps.case import (
    HALF_SUBNORMAL,
    UNIT_ROUNDOFF,
    Case,
    Operand,
    Task,
    expanded,
    normal,
    ragged,
)


def _rounding(expected: np.ndarray, dtype: str) -> np.ndarray:
    return UNIT_ROUNDOFF[dtype] * np.abs(expected) + HALF_SUBNORMAL[dtype]


# --- vector_add -------------------------------------------------------------------------------


def _add_case(rng, name: str, n: int, dtype: str, focus: str = "") -> Case:
    x, y = normal(rng, (n,), dtype), normal(rng, (n,), dtype)
    expected = x.astype(np.float64) + y.astype(np.float64)
    operands = (Operand("x", x, dtype=dtype), Operand("y", y, dtype=dtype))
    size = {"N": n, "dtype": dtype}
    return Case(name, size, operands, expected, _rounding(expected, dtype), dtype, focus)


def _vector_add_cases(rng) -> list[Case]:
    return [
        _add_case(rng, "whole tiles", 4096, "float32"),
        _add_case(rng, "ragged N", 4096 + ragged(rng, 3, 900), "float32", "N"),
        _add_case(rng, "long", 100_000 + ragged(rng, 3, 900), "float32", "N"),
        _add_case(rng, "smaller than a tile", ragged(rng, 3, 15), "float32", "N"),
        _add_case(rng, "one element", 1, "float32", "N"),
        _add_case(rng, "empty", 0, "float32", "empty"),
        _add_case(rng, "float16", 4096, "float16", "dtype"),
        _add_case(rng, "ragged N, float16", 2048 + ragged(rng, 3, 900), "float16", "N"),
        _add_case(rng, "bfloat16", 2048 + ragged(rng, 3, 900), "bfloat16", "dtype"),
    ]


def _vector_add_hypotheses(case: Case, tiles: set[int]):
    x, y = (o.values.astype(np.float64) for o in case.operands)
    for tile in tiles:
        first = np.arange(x.size) % tile  # every program works on the first tile
        if x.size > tile:
            yield "pointer_not_advanced", x[first] + y[first]


def _add_optimum(case: Case) -> tuple[int, int]:
    """Both vectors once, the sum once."""
    n = case.expected.size * itemsize(case.dtype)
    return 2 * n, n


vector_add = Task(_vector_add_cases, _vector_add_hypotheses, optimum=_add_optimum)


# --- scale_rows -------------------------------------------------------------------------------


def _scale_case(
    rng, name: str, rows: int, cols: int, dtype="float32", layout="contiguous", focus="",
    factors="contiguous",
) -> Case:  # fmt: skip
    """`layout` is that of x, `factors` that of s."""
    draw = expanded if layout == "expanded" else normal
    x, s = draw(rng, (rows, cols), dtype), normal(rng, (rows,), dtype)
    expected = x.astype(np.float64) * s.astype(np.float64)[:, None]
    operands = (Operand("x", x, layout), Operand("s", s, factors))
    size = {"R": rows, "C": cols, "dtype": dtype}
    size |= {o.name: o.layout for o in operands if o.layout != "contiguous"}
    return Case(name, size, operands, expected, _rounding(expected, dtype), dtype, focus)


def _scale_rows_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    return [
        _scale_case(rng, "whole tiles", 64, 128),
        _scale_case(rng, "ragged R", 64 + odd(3, 60), 128, focus="M"),
        _scale_case(rng, "ragged C", 64, 128 + odd(3, 60), focus="N"),
        _scale_case(rng, "ragged everywhere", odd(133, 160), odd(133, 190), focus="MN"),
        _scale_case(rng, "long rows", 2, 2048 + odd(3, 900), focus="N"),
        _scale_case(rng, "smaller than a tile", odd(3, 7), odd(9, 15), focus="MN"),
        _scale_case(rng, "x transposed", odd(17, 60), odd(65, 90), layout="transposed", focus="strides:x"),
        _scale_case(rng, "x with padded rows", 64, 64, layout="padded", focus="strides:x"),
        _scale_case(rng, "x sliced", odd(17, 30), odd(33, 60), layout="sliced", focus="strides:x"),
        _scale_case(rng, "x expanded", 32, 64, layout="expanded", focus="strides:x"),
        _scale_case(rng, "x beyond 2³¹ elements", odd(17, 60), 40, "float16", "far", "int64"),
        _scale_case(rng, "float16", odd(17, 60), odd(65, 90), "float16", focus="dtype"),
        _scale_case(rng, "s sliced", odd(17, 60), 40, factors="sliced", focus="strides:s"),
    ]  # fmt: skip


def _scale_rows_hypotheses(case: Case, tiles: set[int]):
    x, s = case.operands
    scale = s.values.astype(np.float64)
    for cause, values in memory.misread(x):
        yield cause, values * scale[:, None]
    yield "stride_ignored", x.values * memory.as_contiguous(s)[:, None]
    columns = np.arange(case.shape[1])
    if scale.size >= columns.size:
        yield "tile_dimensions_confused", x.values * scale[columns][None, :]


def _scale_optimum(case: Case) -> tuple[int, int]:
    """Every element once, each row's factor once, the result once."""
    size = itemsize(case.dtype)
    return (case.expected.size + case.shape[0]) * size, case.expected.size * size


scale_rows = Task(_scale_rows_cases, _scale_rows_hypotheses, optimum=_scale_optimum)
