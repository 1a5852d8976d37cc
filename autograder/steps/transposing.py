"""The `transpose` step of chapter 4. Nothing is computed, so the answer is exact, bit for bit."""

import numpy as np

from autograder.formats import itemsize
from autograder.steps import memory
from autograder.steps.case import Case, Operand, Task, expanded, normal, ragged


def _case(rng, name: str, rows: int, cols: int, dtype="float32", layout="contiguous", focus=""):
    draw = expanded if layout == "expanded" else normal
    x = draw(rng, (rows, cols), dtype)
    if dtype == "bfloat16":
        x = x * np.float32(2**20)  # exact, and more than float16 can hold
    expected = np.ascontiguousarray(x.T).astype(np.float64)
    size = {"M": rows, "N": cols, "dtype": dtype}
    if layout != "contiguous":
        size["x"] = layout
    bound = np.zeros(expected.shape)
    return Case(name, size, (Operand("x", x, layout, dtype),), expected, bound, dtype, focus)


def _cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    return [
        _case(rng, "whole tiles", 128, 128),
        _case(rng, "wide", 64, 192, focus="rectangular"),
        _case(rng, "tall", 192, 64, focus="rectangular"),
        _case(rng, "ragged M", 64 + odd(3, 60), 128, focus="M"),
        _case(rng, "ragged N", 128, 64 + odd(3, 60), focus="N"),
        _case(rng, "ragged everywhere", odd(133, 190), odd(193, 250), focus="MN"),
        _case(rng, "very tall", 1024 + odd(3, 300), odd(3, 9), focus="MN"),
        _case(rng, "very wide", odd(3, 9), 1024 + odd(3, 300), focus="MN"),
        _case(rng, "one row", 1, odd(65, 120), focus="MN"),
        _case(rng, "one column", odd(65, 120), 1, focus="MN"),
        _case(rng, "smaller than a tile", odd(3, 7), odd(9, 15), focus="MN"),
        _case(rng, "x already transposed", odd(33, 60), odd(65, 120), layout="transposed", focus="strides:x"),
        _case(rng, "x with padded rows", 64, 128, layout="padded", focus="strides:x"),
        _case(rng, "x sliced", odd(17, 30), odd(33, 60), layout="sliced", focus="strides:x"),
        _case(rng, "x expanded", 32, 64, layout="expanded", focus="strides:x"),
        _case(rng, "x beyond 2³¹ elements", odd(33, 60), 40, "float16", "far", "int64"),
        _case(rng, "float16", odd(33, 60), odd(65, 120), "float16", focus="dtype"),
        _case(rng, "bfloat16", odd(33, 60), odd(65, 120), "bfloat16", focus="dtype"),
    ]  # fmt: skip


def _hypotheses(case: Case, tiles: set[int]):
    (x,) = case.operands
    yield "stride_ignored", memory.as_contiguous(x).T
    yield "stride_ignored", memory.with_unit_column_stride(x).T
    yield "strides_swapped", memory.with_swapped_strides(x).T
    # The output written with its strides exchanged: right values, wrong places.
    yield "strides_swapped", x.values.reshape(case.shape).astype(np.float64)


def _optimum(case: Case) -> tuple[int, int]:
    """Every element is loaded once and stored once."""
    moved = case.expected.size * itemsize(case.dtype)
    return moved, moved


transpose = Task(_cases, _hypotheses, optimum=_optimum)
