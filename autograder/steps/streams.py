"""Steps of chapter 11 about running statistics: `merge`, as plain Python, and `weighted_mean`.

`weighted_mean` is one query of attention: the scores are given, and there is one value a key. How
much error it may have follows from that of a softmax (rows.py). Must never grade what a step does not
promise: no entry is NaN or +inf.
"""

import numpy as np

from autograder.formats import rounded
from autograder.steps import memory, row_values, rows
from autograder.steps.calls import Call, CallCase, CallTask
from autograder.steps.case import (
    HALF_SUBNORMAL,
    UNIT_ROUNDOFF,
    Case,
    Operand,
    Task,
    normal,
    ragged,
)

# --- merge ------------------------------------------------------------------------------------

# Maxima go up to about 310. A right merge may add log-sum-exps, which are as large, and rounds a few of
# them: 6 · 310 · 2⁻²⁴. The other roundings are far smaller.
MERGE_RELATIVE = 1.1e-4


def _merged(m1, l1, m2, l2):
    """Both pairs in one, in float64 on the way."""
    m = np.maximum(m1, m2)
    base = np.where(np.isneginf(m), 0.0, m).astype(np.float64)
    total = l1 * np.exp(m1 - base) + l2 * np.exp(m2 - base)
    return m, total.astype(np.float32)


def _pairs(rng, n: int, level: float = 0.0, spread: float = 3.0):
    """`n` pairs as parts of a row give them: a maximum, and a sum that is at least 1."""
    m = (level + spread * rng.standard_normal(n)).astype(np.float32)
    return m, (1 + 20 * rng.random(n)).astype(np.float32)


def _empty(m, total, where):
    """The same with the empty pair, (-inf, 0), at some places."""
    return np.where(where, np.float32(-np.inf), m), np.where(where, np.float32(0), total)


def _call(first, second) -> Call:
    arguments = (*first, *second)
    return Call(arguments, _merged(*arguments))


def _merge_case(name: str, *calls: Call) -> CallCase:
    return CallCase(name, {"calls": len(calls)}, calls, relative=MERGE_RELATIVE)


def _merge_cases(rng) -> list[CallCase]:
    n = ragged(rng, 5, 12)
    high, low = _pairs(rng, n, 4), _pairs(rng, n, -4)
    some, other = _pairs(rng, n), _pairs(rng, n)
    far = _pairs(rng, n, 300), _pairs(rng, n, -300)
    holes = rng.permutation(n) < n // 2
    nothing = _empty(*some, np.ones(n, bool))
    square = [tuple(x.reshape(2, 3) for x in _pairs(rng, 6)) for _ in range(2)]
    return [
        _merge_case("maxima side by side", _call(some, other), _call(other, some)),
        _merge_case("first larger, second larger", _call(high, low), _call(low, high)),
        _merge_case("equal maxima", _call(some, (some[0], other[1]))),
        _merge_case("far apart", _call(*far), _call(*far[::-1])),
        _merge_case("both near 300", _call(_pairs(rng, n, 300), _pairs(rng, n, 300))),
        _merge_case(
            "an empty pair on one side",
            _call(_empty(*some, holes), other),
            _call(some, _empty(*other, holes)),
        ),
        _merge_case(
            "two empty pairs", _call(nothing, nothing), _call(_empty(*some, holes), nothing)
        ),
        _merge_case("two axes", _call(*square)),
    ]


def _without_guard(m1, l1, m2, l2):
    m = np.maximum(m1, m2)
    with np.errstate(invalid="ignore"):
        return m, (l1 * np.exp(m1 - m) + l2 * np.exp(m2 - m)).astype(np.float32)


def _scaled(of_first, of_second, maximum=np.maximum):
    """The merge with other factors: each takes (own maximum, new maximum)."""

    def wrong(m1, l1, m2, l2):
        m = maximum(m1, m2)
        base = np.where(np.isneginf(m), np.float32(0), m)
        with np.errstate(over="ignore", invalid="ignore"):
            total = l1 * of_first(m1, base) + l2 * of_second(m2, base)
        return m, np.asarray(total, np.float32)

    return wrong


def _right(own, new):
    return np.exp(own - new)


def _one(own, new):
    return np.ones_like(new)


def _nothing(own, new):
    return np.zeros_like(new)


def _inverted(own, new):
    return np.exp(new - own)


def _power_of_two(own, new):
    return np.exp2(own - new)


_MERGE_MISTAKES = (
    ("empty_block", _without_guard),
    ("rescale_missing", _scaled(_one, _one)),
    ("rescale_missing", _scaled(_right, _one)),
    ("rescale_missing", _scaled(_one, _right)),
    ("rescale_missing", _scaled(_inverted, _inverted)),
    ("scale_wrong", _scaled(_power_of_two, _power_of_two)),
    ("running_max_wrong", _scaled(_right, _right, lambda m1, m2: m1)),
    ("running_max_wrong", _scaled(_right, _right, lambda m1, m2: m2)),
    ("running_max_wrong", _scaled(_right, _right, np.minimum)),
    ("accumulator_overwritten", _scaled(_nothing, _right)),
    ("accumulator_overwritten", _scaled(_right, _nothing)),
)

merge = CallTask(_merge_cases, _MERGE_MISTAKES, otherwise="rescale_missing")


# --- weighted_mean ----------------------------------------------------------------------------


def _weights(x: np.ndarray) -> np.ndarray:
    """Softmax of each row; zeros where every entry is -inf."""
    top = x.max(axis=1, keepdims=True)
    e = np.exp(x - np.where(np.isneginf(top), 0.0, top))
    total = e.sum(axis=1, keepdims=True)
    return e / np.where(total == 0, 1.0, total)


def _bound(x: np.ndarray, v: np.ndarray, expected: np.ndarray, dtype: str) -> np.ndarray:
    """The error allowed for the sum of p[j] · v[j]: the relative error of each weight, as derived in
    rows.py, on a sum without cancellation; the roundings of that sum, 4·√n·u once more; and the
    rounding to the output's type.
    """
    p, size = _weights(x), np.abs(v)[None, :]
    error = (p * size * rows.error_of_weights(x, p, sums=2)).sum(
        axis=1
    ) + rows.SMALLEST_NORMAL * size.sum()
    return error + UNIT_ROUNDOFF[dtype] * np.abs(expected) + HALF_SUBNORMAL[dtype]


def _case(name: str, x, v, focus="", layouts=("contiguous", "contiguous"), dtype="") -> Case:
    wide, values = x.astype(np.float64), v.astype(np.float64)
    expected = _weights(wide) @ values
    first, second = Operand("x", x, layouts[0], dtype), Operand("v", v, layouts[1], dtype)
    size = row_values.size_of(first)
    size |= {"v": second.layout} if second.layout != "contiguous" else {}
    bound = _bound(wide, values, expected, first.dtype)
    return Case(name, size, (first, second), expected, bound, first.dtype, focus)


def _cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def values(cols, dtype="float32"):
        return normal(rng, (cols,), dtype) + np.array(2, dtype)  # a mean that is not about 0

    def drawn(name, r, c, focus="", dtype="float32", layouts=("contiguous", "contiguous")):
        x = row_values.draw(rng, r, c, dtype, layouts[0])
        return _case(name, x, values(c, dtype), focus, layouts)

    def given(name, x, focus):
        return _case(name, x, values(x.shape[1]), focus)

    first = (16, 1100, 2100, 4100, 8200)
    empty = row_values.minus_infinity_first(rng, 4096 + odd(33, 60), (0, 20, 5000, 300, 5000))
    return [
        drawn("one block", 4, 64),
        drawn("whole blocks", 2, 8192, "blocks"),
        drawn("ragged C", 8, 64 + odd(3, 60), "C"),
        drawn("several blocks, ragged C", 3, 4096 + odd(3, 900), "C"),
        drawn("one column", odd(5, 15), 1, "C"),
        drawn("one row", 1, odd(17, 60), "R"),
        given("near -300", row_values.around(rng, -300, 2, 4096 + odd(33, 60)), "values"),
        given("exp overflows", row_values.around(rng, 89, 2, 4096 + odd(33, 60)), "values"),
        given("rising", rows.rising(rng, 2, 8192 + odd(33, 60)), "values"),
        given("first far above", row_values.first_far_above(rng, 2, 8192 + odd(33, 60)), "values"),
        given("first block -inf", row_values.minus_infinity_first(rng, 9001, first), "empty block"),
        given("rows of nothing but -inf", empty, "empty row"),
        given("entries of -inf", row_values.with_holes(rng, 5, odd(33, 60)), "values"),
        given("rows of equal entries", row_values.constant(odd(2100, 2200)), "values"),
        drawn("x transposed", odd(17, 40), odd(65, 90), "strides:x", layouts=("transposed", "contiguous")),
        drawn("x and v sliced", odd(7, 15), odd(33, 60), "strides:v", layouts=("sliced", "sliced")),
        drawn("x beyond 2³¹ elements", odd(17, 40), 40, "int64", "float16", ("far", "contiguous")),
        drawn("float16", 3, 4096 + odd(65, 90), "dtype", "float16"),
        _case("bfloat16", *_bfloat16(rng, 3, 2048 + odd(65, 90)), "dtype", dtype="bfloat16"),
    ]  # fmt: skip


def _bfloat16(rng, rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and values of which the mean is more than float16 can hold."""
    return row_values.bfloat16(rng, rows, cols), rounded(
        2**20 * (2 + normal(rng, (cols,), "float32")), "bfloat16"
    )


def _hypotheses(case: Case, tiles: set[int]):
    x, v = case.operands
    wide, values = x.values.astype(np.float64), v.values.astype(np.float64)
    top = wide.max(axis=1)
    for tile in sorted(tiles):
        if np.isneginf(wide[:, :tile]).all(axis=1).any():
            yield "empty_block", _stream(wide, values, tile)
        if wide.shape[1] > tile:  # else there is one block, and its maximum is the row's
            yield "running_max_wrong", _stream(wide, values, tile, running=False)
    if top.max() > 80 or top[np.isfinite(top)].min(initial=0) < -80:
        yield from _unshifted(wide, values)
    if np.isneginf(top).any():
        yield "empty_row", _mean(wide, values)  # unguarded: 0/0 in these rows
        for sentinel in (-1e9, -1e30):
            held = np.maximum(wide, sentinel)
            yield "empty_row", _mean(held, values)
    for tile in sorted(tiles):
        yield from _wrong_streams(wide, values, tile)
    for misread in (memory.as_contiguous(x), memory.with_unit_column_stride(x)):
        yield "stride_ignored", _mean(misread, values)
    yield "strides_swapped", _mean(memory.with_swapped_strides(x), values)
    yield "stride_ignored", _mean(wide, memory.as_contiguous(v))
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    yield "normaliser_wrong", e @ values
    yield "normaliser_wrong", (e / e.sum(axis=1, keepdims=True)) @ values * wide.shape[1]
    yield "normaliser_wrong", np.where(np.isfinite(wide), wide, 0) @ values
    yield "scale_wrong", _mean(wide * np.log(2), values)


def _mean(x, v):
    with np.errstate(invalid="ignore", over="ignore"):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e @ v / e.sum(axis=1)


def _unshifted(x, v):
    """The mean with exponentials of the scores themselves, unguarded and with 1 in place of a sum of 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(x.astype(np.float32))
        mean, total = e @ v.astype(np.float32), e.sum(axis=1)
        yield "max_not_subtracted", (mean / total).astype(np.float64)
        yield "max_not_subtracted", (mean / np.where(total == 0, 1, total)).astype(np.float64)


def _wrong_streams(x, v, tile: int):
    """What the usual slips between the blocks of a row compute."""
    blocks, padding = row_values.blocks_of(x.shape[1], tile), -x.shape[1] % tile
    top = x.max(axis=1, keepdims=True)
    for sentinel in row_values.SENTINELS:
        if top[np.isfinite(top)].min(initial=0) < sentinel:
            yield "finite_mask_value", _stream(x, v, tile, start=sentinel)
    if padding:
        e = np.exp(x - np.maximum(top, 0))
        yield (
            "masked_other_wrong",
            e @ v / (e.sum(axis=1) + padding * np.exp(-np.maximum(top, 0))[:, 0]),
        )
        e = np.exp(x - top)
        yield "masked_other_wrong", e @ v / (e.sum(axis=1) + padding * np.exp(-top)[:, 0])
    if len(blocks) == 1:
        return
    yield "rescale_missing", _stream(x, v, tile, of_mean=_one)
    yield "rescale_missing", _stream(x, v, tile, of_sum=_one)
    yield "rescale_missing", _stream(x, v, tile, of_sum=_one, of_mean=_one)
    yield "accumulator_overwritten", _stream(x, v, tile, of_sum=_nothing, of_mean=_nothing)
    yield "accumulator_overwritten", _stream(x, v, tile, of_mean=_nothing)
    yield "normaliser_wrong", sum(_mean(x[:, b], v[b]) for b in blocks) / len(blocks)
    whole = x.shape[1] // tile * tile
    yield "tail_dropped", _mean(x[:, :whole], v[:whole])
    yield (
        "pointer_not_advanced",
        _mean(np.concatenate([x[:, blocks[0]]] * 2, 1), np.tile(v[blocks[0]], 2)),
    )


def _stream(x, v, tile, of_sum=_right, of_mean=_right, running=True, start=-np.inf):
    """The one-pass mean in float32, unguarded, with one thing changed."""
    x, v = x.astype(np.float32), v.astype(np.float32)
    m = np.full(x.shape[0], start, np.float32)
    total, mean = np.zeros_like(m), np.zeros_like(m)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for block in row_values.blocks_of(x.shape[1], tile):
            part = x[:, block]
            new = np.maximum(m, part.max(axis=1)) if running else part.max(axis=1)
            p = np.exp(part - new[:, None])
            total = total * of_sum(m, new) + p.sum(axis=1)
            mean = mean * of_mean(m, new) + p @ v[block]
            m = new
        return (mean / np.where(np.isneginf(m) | (total != 0), total, 1)).astype(np.float64)


weighted_mean = Task(_cases, _hypotheses, otherwise="normaliser_wrong")
