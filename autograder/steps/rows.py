"""Row reductions of chapters 5 and 11: `row_max`, `softmax` and `online_softmax`.

A maximum is exact. How much error a softmax may have is derived at `_softmax_bound` and calibrated
in tests/test_rows.py. No case has a row in which every entry is -inf: such a row has no softmax,
and the steps promise nothing about it. Must never grade what a step does not promise.
"""

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
    next_power_of_2,
    one_far_off,
    padded_widths,
    size_of,
    with_holes,
)

ROUNDOFF = UNIT_ROUNDOFF["float32"]  # all three steps compute in fp32
SMALLEST_NORMAL = 2.0**-126  # a GPU may replace what is smaller by 0
# A maximum swallows NaN, so that one case is run with this in masked lanes and beside the operand.
SECOND_FILL = 3e4


def softmax_of(x: np.ndarray) -> np.ndarray:
    """Exact softmax of each row of a float64 array."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _softmax_bound(x: np.ndarray, p: np.ndarray, dtype: str) -> np.ndarray:
    """The error allowed for p[i] = exp(x[i] - m) / sum(exp(x[j] - m)), from these parts (u = 2⁻²⁴):

    - exp and the division in fp32 err by at most 2⁻²² = 4u relative each on a GPU (ex2.approx and
      div.full): once in the numerator, once in the sum, once in the quotient, 12u in all.
    - The sum has positive terms only, so that its relative error is that of its roundings: below
      4·√n·u, as for a matrix product (steps/matmul.py). The corrections that online softmax makes
      once a block are multiplications of the sum, fewer than n, and are part of it.
    - The argument of exp is a difference, rounded, and may be scaled by log₂e before or after it is
      taken: three roundings of numbers no larger than |x[i]| + |m|. Absolute errors of an argument
      are relative errors of its exp: in the numerator, and averaged with weights p in the sum.
      In a row of equal entries the difference is 0 in every order, and exact.
    - Rounding to the output's type, and what underflows.
    """
    relative = error_of_weights(x, p, sums=1)
    return p * (relative + UNIT_ROUNDOFF[dtype]) + HALF_SUBNORMAL[dtype] + SMALLEST_NORMAL


def error_of_weights(x: np.ndarray, p: np.ndarray, sums: int) -> np.ndarray:
    """The relative error of each weight p[i], as derived at `_softmax_bound`, where `sums` sums of a
    row's length are rounded.
    """
    top = x.max(axis=1, keepdims=True)
    finite = np.isfinite(x)
    lowest = np.where(finite, x, np.inf).min(axis=1, keepdims=True)
    argument = np.where(finite & (lowest < top), 3 * (np.abs(x) + np.abs(top)), 0.0)
    averaged = (p * argument).sum(axis=1, keepdims=True)
    return ROUNDOFF * (12 + 4 * sums * np.sqrt(x.shape[1]) + argument + averaged)


# --- row_max ----------------------------------------------------------------------------------


def _max_case(
    name: str, values: np.ndarray, focus: str = "", layout="contiguous", dtype: str = ""
) -> Case:
    x = Operand("x", values, layout, dtype)
    expected = values.max(axis=1).astype(np.float64)
    return Case(name, size_of(x), (x,), expected, np.zeros_like(expected), x.dtype, focus)


def _row_max_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, rows, cols, focus="", dtype="float32", layout="contiguous"):
        return _max_case(name, draw(rng, rows, cols, dtype, layout), focus, layout)

    return [
        case("whole tiles", 16, 64),
        case("several blocks", 4, 2048),
        case("ragged C", 16, 64 + odd(3, 60), "C"),
        case("long rows, ragged C", 3, 8192 + odd(3, 900), "C"),
        case("smaller than a tile", odd(3, 7), odd(5, 15), "C"),
        case("one column", odd(5, 15), 1, "C"),
        case("one row", 1, odd(17, 60), "R"),
        case("many rows", 260 + odd(3, 30), odd(5, 15), "R"),
        _max_case("all negative, whole tiles", around(rng, -300, 4, 2048), "values"),
        _max_case("all negative, ragged C", around(rng, -300, 8, odd(33, 60)), "values"),
        _max_case("rows on different levels", levels(rng, 8, odd(33, 60)), "values"),
        _max_case("rows of equal entries", constant(odd(33, 60)), "values"),
        _max_case("entries of -inf", with_holes(rng, 5, odd(33, 60)), "values"),
        case("x transposed", odd(17, 40), odd(65, 90), "strides:x", layout="transposed"),
        case("x with padded rows", 16, 64, "strides:x", layout="padded"),
        case("x sliced", odd(17, 30), odd(33, 60), "strides:x", layout="sliced"),
        case("x expanded", 16, 64, "strides:x", layout="expanded"),
        case("x beyond 2³¹ elements", odd(17, 40), 40, "int64", "float16", "far"),
        # More than float16 can hold.
        _max_case("bfloat16", bfloat16(rng, 5, odd(65, 90), 2**20), "dtype", dtype="bfloat16"),
        case("float16", odd(17, 40), odd(65, 90), "dtype", "float16"),
    ]


def _row_max_hypotheses(case: Case, tiles: set[int]):
    (x,) = case.operands
    wide = x.values.astype(np.float64)
    top = wide.max(axis=1)
    if any(case.size["C"] % tile for tile in tiles | {next_power_of_2(case.size["C"])}):
        yield "masked_other_wrong", np.maximum(top, 0)
    yield "running_max_wrong", np.maximum(top, 0)  # also where no lane is masked
    yield "masked_other_wrong", np.maximum(top, SECOND_FILL)
    for sentinel in SENTINELS:
        yield "finite_mask_value", np.maximum(top, np.float32(sentinel))
    for cause, misread in memory.misread(x):
        yield cause, _max_skipping_nan(misread)
    for tile in sorted(tiles):
        for width in padded_widths(wide.shape[1], tile):
            yield "load_mask_missing", _max_skipping_nan(memory.with_columns(x, width))
        yield from _partial_maxima(wide, tile)
    yield "max_not_per_row", np.full_like(top, top.max())
    yield "tile_dimensions_confused", _along_columns(np.max, wide)


def _partial_maxima(x: np.ndarray, tile: int):
    blocks = blocks_of(x.shape[1], tile)
    whole = x[:, : x.shape[1] // tile * tile]
    yield "tail_dropped", whole.max(axis=1, initial=-np.inf)
    if len(blocks) > 1:
        yield "accumulator_overwritten", x[:, blocks[-1]].max(axis=1)
        yield "pointer_not_advanced", x[:, blocks[0]].max(axis=1)


def _max_skipping_nan(x: np.ndarray) -> np.ndarray:
    """What a kernel's maximum makes of memory that is not the tensor's."""
    return np.where(np.isnan(x), -np.inf, x).max(axis=1)


def _along_columns(reduce, x: np.ndarray) -> np.ndarray:
    """A reduction along the wrong axis, where the shapes let it be stored at all."""
    columns = reduce(x, axis=0)
    return columns[: x.shape[0]] if x.shape[1] >= x.shape[0] else np.empty(0)


row_max = Task(_row_max_cases, _row_max_hypotheses, second_fill=SECOND_FILL)


# --- softmax ----------------------------------------------------------------------------------


def _softmax_case(
    name: str, values: np.ndarray, focus: str = "", layout="contiguous", dtype: str = ""
) -> Case:
    x, wide = Operand("x", values, layout, dtype), values.astype(np.float64)
    expected = softmax_of(wide)
    bound = _softmax_bound(wide, expected, x.dtype)
    return Case(name, size_of(x), (x,), expected, bound, x.dtype, focus)


def _softmax_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, rows, cols, focus="", dtype="float32", layout="contiguous"):
        return _softmax_case(name, draw(rng, rows, cols, dtype, layout), focus, layout)

    return [
        case("whole tiles", 16, 64),
        case("ragged C", 16, 64 + odd(3, 60), "C"),
        case("long rows, ragged C", 3, 4096 + odd(3, 900), "C"),
        case("smaller than a tile", odd(3, 7), odd(5, 15), "C"),
        case("one column", odd(5, 15), 1, "C"),
        case("one row", 1, odd(17, 60), "R"),
        case("many rows", 260 + odd(3, 30), odd(5, 15), "R"),
        _softmax_case("near -300", around(rng, -300, 5, odd(33, 60)), "values"),
        _softmax_case("exp overflows", around(rng, 89, 5, odd(33, 60)), "values"),
        _softmax_case("rows on different levels", levels(rng, 8, odd(33, 60)), "values"),
        _softmax_case("one entry far off", one_far_off(rng, 6, odd(33, 60)), "values"),
        _softmax_case("rows of equal entries", constant(odd(33, 60)), "values"),
        _softmax_case("entries of -inf", with_holes(rng, 5, odd(33, 60)), "values"),
        case("x transposed", odd(17, 40), odd(65, 90), "strides:x", layout="transposed"),
        case("x with padded rows", 16, 64, "strides:x", layout="padded"),
        case("x sliced", odd(17, 30), odd(33, 60), "strides:x", layout="sliced"),
        case("x expanded", 16, 64, "strides:x", layout="expanded"),
        case("x beyond 2³¹ elements", odd(17, 40), 40, "int64", "float16", "far"),
        case("float16", odd(17, 40), odd(65, 90), "dtype", "float16"),
        _softmax_case("bfloat16", bfloat16(rng, 5, odd(65, 90)), "dtype", dtype="bfloat16"),
    ]


def rising(rng, rows: int, cols: int) -> np.ndarray:
    """Every block has a larger maximum than the one before."""
    return normal(rng, (rows, cols), "float32") + np.linspace(-40, 40, cols, dtype="float32")


def _online_softmax_cases(rng) -> list[Case]:
    """Rows of several blocks of up to 4096, since nobody knows how large a learner's blocks are."""

    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, rows, cols, focus="", dtype="float32", layout="contiguous"):
        return _softmax_case(name, draw(rng, rows, cols, dtype, layout), focus, layout)

    first = (16, 1100, 2100, 4100, 8200)
    return [
        case("one block", 4, 64),
        case("whole blocks", 2, 8192, "blocks"),
        case("ragged C", 8, 64 + odd(3, 60), "C"),
        case("several blocks, ragged C", 3, 4096 + odd(3, 900), "C"),
        case("smaller than a block", odd(3, 7), odd(5, 15), "C"),
        case("one column", odd(5, 15), 1, "C"),
        case("one row", 1, odd(17, 60), "R"),
        case("many rows", 130 + odd(3, 30), odd(5, 15), "R"),
        _softmax_case("near -300", around(rng, -300, 2, 4096 + odd(33, 60)), "values"),
        _softmax_case("exp overflows", around(rng, 89, 2, 4096 + odd(33, 60)), "values"),
        _softmax_case("rising", rising(rng, 2, 8192 + odd(33, 60)), "values"),
        _softmax_case("first far above", first_far_above(rng, 2, 8192 + odd(33, 60)), "values"),
        _softmax_case("first block -inf", minus_infinity_first(rng, 9001, first), "empty block"),
        _softmax_case("entries of -inf", with_holes(rng, 5, odd(33, 60)), "values"),
        _softmax_case("rows on different levels", levels(rng, 8, odd(33, 60)), "values"),
        _softmax_case("rows of equal entries", constant(odd(2100, 2200)), "values"),
        case("x transposed", odd(17, 40), odd(65, 90), "strides:x", layout="transposed"),
        case("x with padded rows", 4, 2048, "strides:x", layout="padded"),
        case("x sliced", odd(7, 15), odd(33, 60), "strides:x", layout="sliced"),
        case("x expanded", 16, 64, "strides:x", layout="expanded"),
        case("x beyond 2³¹ elements", odd(17, 40), 40, "int64", "float16", "far"),
        case("float16", 3, 4096 + odd(65, 90), "dtype", "float16"),
        _softmax_case("bfloat16", bfloat16(rng, 3, 2048 + odd(65, 90)), "dtype", dtype="bfloat16"),
    ]


def _softmax_hypotheses(case: Case, tiles: set[int]):
    yield from _wrong_softmaxes(*case.operands, tiles)
    yield from _wrong_streams(*case.operands, tiles)


def _online_softmax_hypotheses(case: Case, tiles: set[int]):
    """The same, but where two explain as much, the one about blocks comes first."""
    yield from _wrong_streams(*case.operands, tiles)
    yield from _wrong_softmaxes(*case.operands, tiles)


def _wrong_softmaxes(x: Operand, tiles: set[int]):
    """What the usual slips within one row compute."""
    wide = x.values.astype(np.float64)
    cols = wide.shape[1]
    top = wide.max(axis=1, keepdims=True)
    e = np.exp(wide - top)
    total = e.sum(axis=1, keepdims=True)
    for tile in sorted(tiles):
        for width in padded_widths(cols, tile):
            yield from _padding_counted(wide, width - cols)
            yield "load_mask_missing", _softmax_skipping_nan(memory.with_columns(x, width), cols)
    for cause, misread in memory.misread(x):
        yield cause, softmax_of(misread)
    if top.max() > 80:  # below, nothing overflows, and what underflows has other reasons too
        raw = np.exp(wide.astype(np.float32))
        yield "max_not_subtracted", (raw / raw.sum(axis=1, keepdims=True)).astype(np.float64)
    yield "max_not_per_row", _in_fp32(wide, np.full_like(top, top.max()))
    yield "scale_wrong", _powers_of_2(wide - top)
    yield "normaliser_wrong", e
    yield "normaliser_wrong", e / total * cols
    yield "normaliser_wrong", wide - top - np.log(total)
    yield "normaliser_wrong", e / total.sum()
    yield "normaliser_wrong", e / np.sqrt((e * e).sum(axis=1, keepdims=True))
    yield "normaliser_wrong", e / np.where(np.isfinite(wide), wide, 0).sum(axis=1, keepdims=True)
    yield "tile_dimensions_confused", softmax_of(wide.T).T


def _padding_counted(x: np.ndarray, padding: int):
    """Lanes past the end of a row that are 0, or a sentinel, in the maximum, the sum, or both."""
    if not padding:
        return
    top = x.max(axis=1, keepdims=True)
    raised = np.maximum(top, 0)
    yield "masked_other_wrong", _in_fp32(x, raised, padding * np.exp(-raised))
    yield "masked_other_wrong", _in_fp32(x, top, padding * np.exp(-top))
    yield "masked_other_wrong", _in_fp32(x, raised)
    yield "masked_other_wrong", _in_fp32(x, top, padding)  # exp(0), for lanes masked before exp
    yield "masked_other_wrong", _in_fp32(x, raised, padding)
    for sentinel in SENTINELS:
        above = np.maximum(top, sentinel)
        yield "finite_mask_value", _in_fp32(x, above, padding * np.exp(sentinel - above))


def _in_fp32(x: np.ndarray, top: np.ndarray, more=0.0) -> np.ndarray:
    """exp(x - top) over its sum and `more`, underflowing and overflowing as fp32 does."""
    e = np.exp((x - top).astype(np.float32)).astype(np.float64)
    total = (e.sum(axis=1, keepdims=True) + more).astype(np.float32)
    return (e.astype(np.float32) / total).astype(np.float64)


def _powers_of_2(x: np.ndarray) -> np.ndarray:
    powers = np.exp2(x)
    return powers / powers.sum(axis=1, keepdims=True)


def _softmax_skipping_nan(x: np.ndarray, cols: int) -> np.ndarray:
    """Softmax of rows read too far, cut to `cols`: a maximum passes over NaN, a sum does not."""
    e = np.exp(x - np.fmax.reduce(x, axis=1)[:, None])
    return (e / e.sum(axis=1, keepdims=True))[:, :cols]


# --- online softmax ---------------------------------------------------------------------------


def _wrong_streams(operand: Operand, tiles: set[int]):
    for tile in sorted(tiles):
        yield from _wrong_stream(operand.values.astype(np.float64), tile)


def _wrong_stream(x: np.ndarray, tile: int):
    """What the usual slips between the blocks of a row compute."""
    blocks = blocks_of(x.shape[1], tile)
    lowest_top = x.max(axis=1).min()
    if np.isneginf(x[:, blocks[0]]).all(axis=1).any():
        yield "empty_block", _stream(x, tile)
    for sentinel in SENTINELS:
        if lowest_top < sentinel:
            yield "finite_mask_value", _stream(x, tile, start=sentinel)
    if lowest_top < -80:  # above, a start at 0 is right as well
        yield "running_max_wrong", _stream(x, tile, start=0.0)
    yield "rescale_missing", _stream(x, tile, correction=lambda old, new: np.exp(new - old))
    if len(blocks) == 1:
        return
    yield "rescale_missing", _stream(x, tile, correction=lambda old, new: 1.0)
    yield "rescale_missing", _stream(x, tile, correction=lambda old, new: np.exp2(old - new))
    yield "accumulator_overwritten", _stream(x, tile, correction=lambda old, new: 0.0)
    yield "running_max_wrong", _stream(x, tile, running=False)
    yield "running_max_wrong", _stream(x, tile, running=False, correction=lambda old, new: 1.0)
    yield from _stored_too_early(x, tile)
    if x.shape[1] % tile:
        whole = x[:, : x.shape[1] // tile * tile]
        top = whole.max(axis=1, keepdims=True)
        yield "tail_dropped", np.exp(x - top) / np.exp(whole - top).sum(axis=1, keepdims=True)
    top, first = x.max(axis=1, keepdims=True), x[:, blocks[0]]
    yield "pointer_not_advanced", np.exp(x - top) / np.exp(first - top).sum(axis=1, keepdims=True)


def _right_correction(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.exp(old - new)


def _stream(x, tile, start=-np.inf, running=True, correction=_right_correction) -> np.ndarray:
    """Online softmax in fp32, unguarded, with one thing changed.

    start       what the running maximum begins with
    running     whether the maximum is kept, or is that of the current block only
    correction  (old maximum, new maximum) → factor of the sum so far
    """
    x = x.astype(np.float32)
    m = np.full((x.shape[0], 1), start, np.float32)
    total = np.zeros((x.shape[0], 1), np.float32)
    for block in blocks_of(x.shape[1], tile):
        part = x[:, block]
        top = part.max(axis=1, keepdims=True)
        new = np.maximum(m, top) if running else top
        total = total * correction(m, new) + np.exp(part - new).sum(axis=1, keepdims=True)
        m = new
    return (np.exp(x - m) / total).astype(np.float64)


def _stored_too_early(x: np.ndarray, tile: int):
    """The result written with the maximum, or the sum, as it was when its block came by."""
    final = x.max(axis=1, keepdims=True)
    total = np.exp(x - final).sum(axis=1, keepdims=True)
    m = np.full((x.shape[0], 1), -np.inf)
    partial = np.zeros((x.shape[0], 1))
    old_maximum, old_both, own_maximum = (np.empty_like(x) for _ in range(3))
    for block in blocks_of(x.shape[1], tile):
        part = x[:, block]
        top = part.max(axis=1, keepdims=True)
        new = np.maximum(m, top)
        partial = partial * np.exp(m - new) + np.exp(part - new).sum(axis=1, keepdims=True)
        m = new
        old_maximum[:, block] = np.exp(part - m) / total
        old_both[:, block] = np.exp(part - m) / partial
        own_maximum[:, block] = np.exp(part - top) / total
    yield "rescale_missing", old_both
    yield "running_max_wrong", old_maximum
    yield "running_max_wrong", own_maximum


softmax = Task(_softmax_cases, _softmax_hypotheses, otherwise="normaliser_wrong")
online_softmax = Task(
    _online_softmax_cases, _online_softmax_hypotheses, otherwise="normaliser_wrong"
)
