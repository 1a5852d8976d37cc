"""Row reductions of chapter 5 that sum: `log_sum_exp` and `layer_norm`.

Both bounds are derived below and calibrated in tests/test_row_sums.py. As in steps/rows.py no case
has a row in which every entry is -inf. Must never grade what a step does not promise.
"""

from collections.abc import Iterator

import numpy as np

from autograder.steps import memory
from autograder.steps.case import (
    HALF_SUBNORMAL,
    UNIT_ROUNDOFF,
    Case,
    Operand,
    Task,
    normal,
    ragged,
)
from autograder.steps.row_values import (
    SENTINELS,
    around,
    bfloat16,
    blocks_of,
    constant,
    draw,
    first_far_above,
    levels,
    minus_infinity_first,
    padded_widths,
    size_of,
    with_holes,
)

ROUNDOFF = UNIT_ROUNDOFF["float32"]  # both steps compute in fp32

Answers = Iterator[tuple[str, np.ndarray]]


# --- log_sum_exp ------------------------------------------------------------------------------


def _log_sum_exp_of(x: np.ndarray) -> np.ndarray:
    top = x.max(axis=1)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))


def _log_sum_exp_bound(x: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The error allowed for m + log(sum(exp(x[j] - m))), in units of u = 2⁻²⁴.

    - A relative error of the sum is an absolute error of its logarithm. The sum has that of exp (4u
      on a GPU), of its roundings (4·√n·u), and of the arguments of exp, averaged with the weights
      p of the softmax: three roundings of numbers no larger than |x[j]| + |m| (steps/rows.py).
    - The logarithm itself errs by 4u, absolutely near 1 and relatively elsewhere.
    - Rounding of the logarithm, of m where it was scaled, and of their sum.
    """
    top = x.max(axis=1)
    log = expected - top
    finite = np.isfinite(x) & (x < top[:, None])
    argument = np.where(finite, 3 * (np.abs(x) + np.abs(top)[:, None]), 0.0)
    averaged = (np.exp(x - expected[:, None]) * argument).sum(axis=1)
    in_sum = 4 + 4 * np.sqrt(x.shape[1]) + averaged
    return ROUNDOFF * (in_sum + 4 + 6 * log + 2 * np.abs(top) + 2 * np.abs(expected))


def _log_sum_exp_case(
    name: str, values: np.ndarray, focus="", layout="contiguous", dtype=""
) -> Case:
    x, wide = Operand("x", values, layout, dtype), values.astype(np.float64)
    expected = _log_sum_exp_of(wide)
    bound = _log_sum_exp_bound(wide, expected)
    return Case(name, size_of(x), (x,), expected, bound, "float32", focus)


def _log_sum_exp_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, rows, cols, focus="", dtype="float32", layout="contiguous"):
        return _log_sum_exp_case(name, draw(rng, rows, cols, dtype, layout), focus, layout)

    return [
        case("whole tiles", 16, 64),
        case("several blocks", 4, 2048),
        case("ragged C", 16, 64 + odd(3, 60), "C"),
        case("long rows, ragged C", 3, 4096 + odd(3, 900), "C"),
        case("smaller than a tile", odd(3, 7), odd(5, 15), "C"),
        case("one column", odd(5, 15), 1, "C"),
        case("one row", 1, odd(17, 60), "R"),
        case("many rows", 130 + odd(3, 30), odd(5, 15), "R"),
        _log_sum_exp_case("near -300, whole tiles", around(rng, -300, 4, 2048), "values"),
        _log_sum_exp_case("near -300, ragged C", around(rng, -300, 5, odd(33, 60)), "values"),
        _log_sum_exp_case("exp overflows", around(rng, 89, 4, 2048), "values"),
        _log_sum_exp_case(
            "maximum in one place", _maximum_in_one_place(rng, 8192 + odd(33, 60)), "values"
        ),
        _log_sum_exp_case("rows on different levels", levels(rng, 8, odd(33, 60)), "values"),
        _log_sum_exp_case("rows of equal entries", constant(odd(33, 60)), "values"),
        _log_sum_exp_case("entries of -inf", with_holes(rng, 5, odd(33, 60)), "values"),
        case("x transposed", odd(17, 40), odd(65, 90), "strides:x", layout="transposed"),
        case("x with padded rows", 16, 64, "strides:x", layout="padded"),
        case("x sliced", odd(17, 30), odd(33, 60), "strides:x", layout="sliced"),
        case("x expanded", 16, 64, "strides:x", layout="expanded"),
        case("x beyond 2³¹ elements", odd(17, 40), 40, "int64", "float16", "far"),
        case("float16", odd(17, 40), odd(65, 90), "dtype", "float16"),
        _log_sum_exp_case(
            "bfloat16", bfloat16(rng, 5, odd(65, 90), 2**20), "dtype", dtype="bfloat16"
        ),
        _log_sum_exp_case(
            "first block -inf", minus_infinity_first(rng, 8192, (16, 1100, 4100)), "values"
        ),
    ]


def _maximum_in_one_place(rng, cols: int) -> np.ndarray:
    """Three rows: 16 entries far above the rest in the first block, in another, and in the last."""
    x = first_far_above(rng, 3, cols)
    return np.stack([x[0], np.roll(x[1], cols // 2 + 1000), x[2, ::-1]])


def _log_sum_exp_hypotheses(case: Case, tiles: set[int]) -> Answers:
    (x,) = case.operands
    wide = x.values.astype(np.float64)
    top = wide.max(axis=1)
    for sentinel in SENTINELS:
        yield "finite_mask_value", _in_fp32(wide, np.maximum(top, np.float32(sentinel)))
    for tile in sorted(tiles):
        for width in padded_widths(wide.shape[1], tile):
            yield from _padding_in_log_sum_exp(wide, width - wide.shape[1])
            yield "load_mask_missing", _log_sum_exp_skipping_nan(memory.with_columns(x, width))
        yield from _partial_log_sum_exps(wide, tile)
    for cause, misread in memory.misread(x):
        yield cause, _log_sum_exp_of(misread)
    if top.max() > 80 or top.min() < -80:  # else nothing overflows, and nothing becomes 0
        yield "max_not_subtracted", _in_fp32(wide, np.zeros_like(top))
    yield "running_max_wrong", _in_fp32(wide, np.maximum(top, 0))
    yield "max_not_restored", case.expected - top
    yield "max_not_restored", case.expected - 2 * top
    yield "max_not_per_row", _in_fp32(wide, np.full_like(top, top.max()))
    powers = np.exp2(wide - top[:, None]).sum(axis=1)
    for log in (np.log, np.log2):
        yield "scale_wrong", top + log(powers)
    yield "scale_wrong", top + (case.expected - top) * np.log2(np.e)
    yield "normaliser_wrong", case.expected - np.log(wide.shape[1])
    yield "normaliser_wrong", np.exp(case.expected - top)
    yield "normaliser_wrong", np.exp(case.expected)
    columns = _log_sum_exp_of(wide.T)
    if columns.size >= top.size:
        yield "tile_dimensions_confused", columns[: top.size]


def _in_fp32(x: np.ndarray, top: np.ndarray, more=0.0) -> np.ndarray:
    """top + log(sum(exp(x - top)) + more), underflowing and overflowing as fp32 does."""
    e = np.exp((x - top[:, None]).astype(np.float32)).astype(np.float64)
    return top + np.log((e.sum(axis=1) + more).astype(np.float32)).astype(np.float64)


def _padding_in_log_sum_exp(x: np.ndarray, padding: int) -> Answers:
    """Lanes past the end of a row that are 0, or a sentinel, in the maximum, the sum, or both."""
    if not padding:
        return
    top = x.max(axis=1)
    raised = np.maximum(top, 0)
    yield "masked_other_wrong", _in_fp32(x, raised, padding * np.exp(-raised))
    yield "masked_other_wrong", _in_fp32(x, top, padding * np.exp(-top))
    yield "masked_other_wrong", _in_fp32(x, raised)
    yield "masked_other_wrong", _in_fp32(x, top, padding)  # exp(0), for lanes masked before exp
    for sentinel in SENTINELS:
        above = np.maximum(top, sentinel)
        yield "finite_mask_value", _in_fp32(x, above, padding * np.exp(sentinel - above))


def _partial_log_sum_exps(x: np.ndarray, tile: int) -> Answers:
    """What is left of a row when a block does not count, or counts in the unit of another."""
    top = x.max(axis=1)
    blocks = blocks_of(x.shape[1], tile)
    whole = x.shape[1] // tile * tile
    if 0 < whole < x.shape[1]:
        yield "tail_dropped", _log_sum_exp_of(x[:, :whole])
        yield "tail_dropped", _in_fp32(x[:, :whole], top)
        yield "tail_dropped", _in_fp32(x, x[:, :whole].max(axis=1))
    if len(blocks) == 1:
        return
    last, first = x[:, blocks[-1]], x[:, blocks[0]]
    yield "accumulator_overwritten", _log_sum_exp_of(last)
    yield "accumulator_overwritten", _in_fp32(last, top)
    yield "accumulator_overwritten", _in_fp32(x, last.max(axis=1))
    yield "pointer_not_advanced", _log_sum_exp_of(first)
    yield "pointer_not_advanced", _in_fp32(x, first.max(axis=1))
    yield "pointer_not_advanced", _in_fp32(first, top, 0.0) + np.log(len(blocks))
    running = np.maximum.accumulate([x[:, b].max(axis=1) for b in blocks])
    unscaled = sum(np.exp(x[:, b] - m[:, None]).sum(axis=1) for b, m in zip(blocks, running))
    yield "rescale_missing", top + np.log(unscaled)


def _log_sum_exp_skipping_nan(x: np.ndarray) -> np.ndarray:
    """Rows read too far: a maximum passes over NaN, a sum does not."""
    top = np.fmax.reduce(x, axis=1)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))


log_sum_exp = Task(_log_sum_exp_cases, _log_sum_exp_hypotheses)


# --- layer_norm -------------------------------------------------------------------------------


def _standardised(x: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + eps)


def _layer_norm_bound(x: np.ndarray, y: np.ndarray, eps: float, dtype: str) -> np.ndarray:
    """The error allowed for y = (x - mean) / s with s = √(variance + eps), where u = 2⁻²⁴.

    - The mean errs by at most (4·√n + 2)·u times the mean of |x|: the roundings of its sum, which
      may cancel, and a division. The distance x - mean has that error and one rounding.
    - An error d of the mean adds d² to the mean of the squared distances, since the distances
      themselves sum to 0. The roundings of that sum, of positive terms, are (4·√n + 4)·u of it.
    - A relative error of s² is twice that of s. Root and division err by at most 8u on a GPU.
    - Rounding to the output's type.
    """
    rounding_of_sum = 4 * np.sqrt(x.shape[1])
    distance = x - x.mean(axis=1, keepdims=True)
    variance = (distance**2).mean(axis=1, keepdims=True)
    square = variance + eps
    in_mean = ROUNDOFF * (rounding_of_sum + 2) * np.abs(x).mean(axis=1, keepdims=True)
    in_square = in_mean**2 + ROUNDOFF * (rounding_of_sum + 4) * variance
    relative = in_square / (2 * square) + 8 * ROUNDOFF + UNIT_ROUNDOFF[dtype]
    in_distance = in_mean + ROUNDOFF * np.abs(distance)
    return in_distance / np.sqrt(square) + np.abs(y) * relative + HALF_SUBNORMAL[dtype]


def _layer_norm_case(name, values, focus="", layout="contiguous", eps=1e-5, dtype="") -> Case:
    x, wide = Operand("x", values, layout, dtype), values.astype(np.float64)
    expected, size = _standardised(wide, eps), size_of(x) | {"eps": eps}
    bound = _layer_norm_bound(wide, expected, eps, x.dtype)
    return Case(name, size, (x,), expected, bound, x.dtype, focus, more=(eps,))


def _layer_norm_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def values(rows, cols, centre=0.0, spread=1.0, dtype="float32"):
        return (centre + spread * normal(rng, (rows, cols), "float32")).astype(dtype)

    def case(name, rows, cols, focus="", dtype="float32", layout="contiguous"):
        return _layer_norm_case(name, draw(rng, rows, cols, dtype, layout), focus, layout)

    off_centre = np.linspace(-40, 40, 8, dtype="float32")[:, None]
    return [
        case("whole tiles", 16, 64),
        case("ragged C", 16, 64 + odd(3, 60), "C"),
        case("long rows, ragged C", 3, 4096 + odd(3, 900), "C"),
        case("smaller than a tile", odd(3, 7), odd(5, 15), "C"),
        case("one column", odd(5, 15), 1, "C"),
        case("one row", 1, odd(17, 60), "R"),
        case("many rows", 130 + odd(3, 30), odd(5, 15), "R"),
        _layer_norm_case("rows off centre", off_centre + values(8, odd(33, 60)), "values"),
        _layer_norm_case("far from zero", values(4, 64, centre=3000.0), "cancellation"),
        _layer_norm_case(
            "far from zero, ragged C", values(4, 64 + odd(3, 60), centre=3000.0), "cancellation"
        ),
        _layer_norm_case("small spread", values(4, 64, spread=1e-3), "eps"),
        _layer_norm_case("large eps", values(4, 64), "eps", eps=0.5),
        _layer_norm_case("rows of equal entries", np.full((3, 64), -7.5, "float32"), "values"),
        case("x transposed", odd(17, 40), odd(65, 90), "strides:x", layout="transposed"),
        case("x with padded rows", 16, 64, "strides:x", layout="padded"),
        case("x sliced", odd(17, 30), odd(33, 60), "strides:x", layout="sliced"),
        case("x expanded", 16, 64, "strides:x", layout="expanded"),
        case("x beyond 2³¹ elements", odd(17, 40), 40, "int64", "float16", "far"),
        case("float16", odd(17, 40), odd(65, 90), "dtype", "float16"),
        # Squares of such numbers, and sums of a row of them, are too large for float16.
        _layer_norm_case("large float16", values(4, 1024, 300.0, 100.0, "float16"), "dtype"),
        _layer_norm_case(
            "bfloat16", bfloat16(rng, 5, odd(65, 90), 2**20), "dtype", dtype="bfloat16"
        ),
    ]


def _layer_norm_hypotheses(case: Case, tiles: set[int]) -> Answers:
    (x,) = case.operands
    (eps,) = case.more
    wide = x.values.astype(np.float64)
    cols = wide.shape[1]
    mean = wide.mean(axis=1, keepdims=True)
    distance = wide - mean
    squares = (distance**2).sum(axis=1, keepdims=True)
    for tile in sorted(tiles):
        for width in sorted(padded_widths(cols, tile) - {cols}):
            yield "masked_lanes_not_reset", _over(distance, squares / cols, eps, mean, width)
            yield "masked_other_wrong", _with_lanes_of_one(wide, width, eps)
            yield "masked_other_wrong", np.full_like(wide, np.nan)  # lanes of infinity
            yield "load_mask_missing", _standardised(memory.with_columns(x, width), eps)[:, :cols]
            yield from _divided_by(wide, width, eps)
    if case.dtype == "float16" and squares.max() > np.finfo(np.float16).max:
        yield "low_precision_accumulator", np.full_like(wide, np.nan)
    for cause, misread in memory.misread(x):
        yield cause, _standardised(misread, eps)
    variance = squares / cols
    if cols > 1:
        yield "variance_wrong", distance / np.sqrt(squares / (cols - 1) + eps)
    yield "variance_wrong", distance / np.sqrt(variance)
    yield "variance_wrong", distance / (np.sqrt(variance) + eps)
    yield "variance_wrong", distance / (variance + eps)
    yield "variance_wrong", distance / np.sqrt(squares + eps)
    yield "variance_wrong", distance * np.sqrt(variance + eps)
    yield "variance_wrong", distance
    second_moment = (wide**2).mean(axis=1, keepdims=True)
    yield "variance_wrong", distance / np.sqrt(second_moment + eps)
    yield "variance_wrong", wide / np.sqrt(second_moment + eps)
    yield "variance_wrong", wide / np.sqrt(variance + eps)
    yield "variance_wrong", distance / np.sqrt(variance + 1e-5)  # eps is a fixed number
    yield "tile_dimensions_confused", _standardised(wide.T, eps).T


def _over(distance, variance, eps: float, mean, width: int) -> np.ndarray:
    """Divided by a variance in which the masked lanes, 0 when loaded, count as 0 - mean."""
    cols = distance.shape[1]
    return distance / np.sqrt(variance + (width - cols) * mean**2 / cols + eps)


def _with_lanes_of_one(x: np.ndarray, width: int, eps: float) -> np.ndarray:
    """Masked lanes count as 1 in the mean, and not in the variance."""
    cols = x.shape[1]
    distance = x - (x.sum(axis=1, keepdims=True) + width - cols) / cols
    return distance / np.sqrt((distance**2).mean(axis=1, keepdims=True) + eps)


def _divided_by(x: np.ndarray, width: int, eps: float) -> Answers:
    """The mean over the lanes of a block in place of the columns, in one place or in both."""
    cols = x.shape[1]
    for of_mean, of_variance in ((width, cols), (cols, width), (width, width)):
        distance = x - x.sum(axis=1, keepdims=True) / of_mean
        squares = (distance**2).sum(axis=1, keepdims=True)
        yield "tile_dimensions_confused", distance / np.sqrt(squares / of_variance + eps)
        mean = x.sum(axis=1, keepdims=True) / of_mean
        squares = squares + (width - cols) * mean**2
        yield "tile_dimensions_confused", distance / np.sqrt(squares / of_variance + eps)


layer_norm = Task(_layer_norm_cases, _layer_norm_hypotheses, otherwise="variance_wrong")
