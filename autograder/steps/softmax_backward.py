"""The step `softmax_backward` of chapter 13: the gradient of a softmax, from its result.

dx = y·(dy - s) with s = Σ y·dy over the row, y as it is given. Must never grade more than that
formula: y need not sum to 1 exactly, since it may be rounded.
"""

import itertools

import numpy as np

from autograder.formats import rounded
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
from autograder.steps.rows import softmax_of

SMALLEST_NORMAL = 2.0**-126  # a GPU may replace what is smaller by 0


def gradient_of(y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Exact gradient, from float64 arrays."""
    return y * (dy - (y * dy).sum(axis=1, keepdims=True))


def _bound(y: np.ndarray, dy: np.ndarray, expected: np.ndarray, dtype: str) -> np.ndarray:
    """The error allowed, from these parts (u = 2⁻²⁴, the arithmetic being fp32):

    - the sum is a dot product of n terms: 4·√n·u·Σ|y·dy|, as for a matrix product;
    - the difference and the product round once each, and so may y·dy and y·s where the bracket is
      multiplied out: 4u·|y|·(|dy| + |s|);
    - rounding to the output's type, and what underflows.
    """
    u, n = UNIT_ROUNDOFF["float32"], y.shape[1]
    s = np.abs((y * dy).sum(axis=1, keepdims=True))
    sizes = np.abs(y * dy).sum(axis=1, keepdims=True)
    fp32 = np.abs(y) * u * (4 * np.sqrt(n) * sizes + 4 * (np.abs(dy) + s))
    return fp32 + UNIT_ROUNDOFF[dtype] * np.abs(expected) + HALF_SUBNORMAL[dtype] + SMALLEST_NORMAL


def _case(rng, name, rows, cols, focus="", dtype="float32", y="contiguous", dy="contiguous",
          level=0.0) -> Case:  # fmt: skip
    """`y` and `dy` are layouts; `level` is added to dy."""
    scores = (expanded if y == "expanded" else normal)(rng, (rows, cols), "float32")
    values = rounded(softmax_of(scores.astype(np.float64)), dtype)
    if dy == "single":
        gradient = np.full((rows, cols), 1.5, values.dtype)
    else:
        gradient = (expanded if dy == "expanded" else normal)(rng, (rows, cols), dtype)
        gradient = rounded(gradient.astype(np.float64) + level, dtype)
    wide, dwide = values.astype(np.float64), gradient.astype(np.float64)
    expected = gradient_of(wide, dwide)
    layouts = {n: layout for n, layout in (("y", y), ("dy", dy)) if layout != "contiguous"}
    return Case(
        name,
        {"R": rows, "C": cols, "dtype": dtype} | layouts,
        (Operand("y", values, y, dtype), Operand("dy", gradient, dy, dtype)),
        expected,
        _bound(wide, dwide, expected, dtype),
        dtype,
        focus,
    )


def _cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, rows, cols, focus="", **options):
        return _case(rng, name, rows, cols, focus, **options)

    return [
        case("whole tiles", 16, 64),
        case("ragged C", 16, 64 + odd(3, 60), "C"),
        case("long rows, ragged C", 3, 4096 + odd(3, 900), "C"),
        case("smaller than a tile", odd(3, 7), odd(5, 15), "C"),
        case("two columns", odd(5, 15), 2, "C"),
        case("one row", 1, odd(17, 60), "R"),
        case("many rows", 130 + odd(3, 30), odd(5, 15), "R"),
        case("dy far from zero", 8, odd(33, 60), "values", level=100.0),
        case("dy transposed", odd(17, 40), odd(65, 90), "dout", dy="transposed"),
        case("dy a single number", odd(17, 40), 64, "dout", dy="single"),
        case("dy with padded rows", 16, 64, "dout", dy="padded"),
        case("y transposed", odd(17, 40), odd(65, 90), "strides:y", y="transposed"),
        case("y sliced, dy expanded", odd(17, 30), odd(33, 60), "strides:y", y="sliced",
             dy="expanded"),
        case("beyond 2³¹ elements", odd(17, 40), 40, "int64", dtype="float16", y="far", dy="far"),
        case("float16", odd(17, 40), odd(65, 90), "dtype", dtype="float16"),
        case("bfloat16", odd(17, 40), odd(65, 90), "dtype", dtype="bfloat16"),
    ]  # fmt: skip


def _hypotheses(case: Case, tiles: set[int]):
    y, dy = case.operands
    yield from _wrong_formulas(y.values.astype(np.float64), dy.values.astype(np.float64), tiles)
    yield from _misread(y, dy)
    if case.dtype == "float32":
        yield "low_precision_accumulator", _summed_in_halves(*(o.values for o in (y, dy)))
        yield "low_precision_input", gradient_of(*(_halved(o.values) for o in (y, dy)))
        yield "low_precision_output", _halved(case.expected)


def _wrong_formulas(y: np.ndarray, dy: np.ndarray, tiles: set[int]):
    s = (y * dy).sum(axis=1, keepdims=True)
    yield "gradient_delta", y * dy
    yield "gradient_delta", dy - s
    yield "gradient_delta", y * dy - s
    yield "gradient_delta", dy * (y - s)
    yield "gradient_delta", y * (dy + s)
    yield "gradient_delta", y * (s - dy)
    yield "gradient_delta", y * (1 - y) * dy
    for total in (dy.sum(axis=1), dy.mean(axis=1), (y * y).sum(axis=1), y.sum(axis=1),
                  s[:, 0] / y.shape[1], dy.max(axis=1), (y * dy).max(axis=1)):  # fmt: skip
        yield "gradient_delta", y * (dy - total[:, None])
    yield "max_not_per_row", y * (dy - s.sum())
    for tile in sorted(tiles):
        if y.shape[1] > tile:
            whole = (y * dy)[:, : y.shape[1] // tile * tile].sum(axis=1, keepdims=True)
            yield "tail_dropped", y * (dy - whole)
        padding = -y.shape[1] % tile
        for other in (1.0,):
            yield "masked_other_wrong", y * (dy - s - padding * other)


def _misread(y: Operand, dy: Operand):
    exact_y, exact_dy = (o.values.astype(np.float64) for o in (y, dy))
    for cause, look in (
        ("ignored", memory.as_contiguous),
        ("ignored", memory.with_unit_column_stride),
        ("swapped", memory.with_swapped_strides),
    ):
        yield "gradient_layout", gradient_of(exact_y, look(dy))
        known = "strides_swapped" if cause == "swapped" else "stride_ignored"
        yield known, gradient_of(look(y), exact_dy)
        yield known, gradient_of(look(y), look(dy))
    yield "gradient_layout", gradient_of(exact_y, memory.read(dy, memory.strides_of(y)))
    yield "stride_ignored", gradient_of(memory.read(y, memory.strides_of(dy)), exact_dy)
    for one, other in itertools.permutations((y, dy)):
        yield "gradient_wrong", gradient_of(*(o.values.astype(np.float64) for o in (one, other)))


def _summed_in_halves(y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    s = _halved(_halved(y * dy).sum(axis=1, keepdims=True))
    return y.astype(np.float64) * (dy - s)


def _halved(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(np.float64)


softmax_backward = Task(_cases, _hypotheses, otherwise="gradient_delta")
