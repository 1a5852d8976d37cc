"""Steps of chapter 7 about TF32: `tf32_round` and `tf32_matmul`.

TF32 has float32's sign and 8 bits of exponent and 10 of its 23 bits of fraction. Rounding is exact to
define, so `tf32_round` must be met bit for bit; the product has the bound of steps/matmul.py around
the product of the rounded operands. Must never grade what the steps do not promise: numbers are 0 or
lie between 2⁻¹²⁶ and 2¹²⁷.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from autograder.formats import rounded
from autograder.steps.case import Case, Operand, Task, normal, ragged
from autograder.steps.matmul import product_case, product_hypotheses, rounding_of, wide

CUT = 13  # bits of a float32's fraction that TF32 does not have
HALF = 1 << (CUT - 1)  # half of the last bit that stays, in units of the last that goes

Answers = Iterator[tuple[str, np.ndarray]]


def to_tf32(x: np.ndarray) -> np.ndarray:
    """The nearest TF32 numbers of float32 numbers, ties to even."""
    return _kept(x, CUT, HALF - 1 + _last_kept_bit(x, CUT))


def _kept(x: np.ndarray, cut: int, added) -> np.ndarray:
    """x with `added` to its bits and the lowest `cut` of them cleared."""
    bits = x.view(np.uint32) + np.asarray(added, np.uint32)
    return (bits >> cut << cut).view(np.float32)


def _last_kept_bit(x: np.ndarray, cut: int) -> np.ndarray:
    return x.view(np.uint32) >> cut & 1


# --- tf32_round -------------------------------------------------------------------------------


def _round_case(name: str, x: np.ndarray, focus: str = "") -> Case:
    expected = to_tf32(x).astype(np.float64)
    size = {"N": x.size, "dtype": "float32"}
    return Case(name, size, (Operand("x", x),), expected, np.zeros_like(expected), "float32", focus)


def _ties(rng, size: int) -> np.ndarray:
    """Numbers half way between two TF32 numbers, below an even and below an odd one alike."""
    bits = normal(rng, (size,), "float32").view(np.uint32) >> CUT << CUT
    return (bits + np.uint32(HALF)).view(np.float32)


def _beside_ties(rng, size: int) -> np.ndarray:
    """As above, one float32 nearer to the one TF32 number or to the other."""
    return (_ties(rng, size).view(np.uint32) + rng.choice([-1, 1], size).astype(np.uint32)).view(
        np.float32
    )


def _below_powers_of_2(rng, size: int) -> np.ndarray:
    """Numbers whose fraction overflows when it is rounded up."""
    powers = np.ldexp(np.float32(1), rng.integers(-20, 20, size)).astype(np.float32)
    beside = powers.view(np.uint32) - rng.integers(1, HALF, size).astype(np.uint32)
    return beside.view(np.float32) * rng.choice([-1, 1], size).astype(np.float32)


def _of_all_sizes(rng, size: int) -> np.ndarray:
    return np.ldexp(1 + rng.random(size), rng.integers(-126, 126, size)).astype(np.float32)


def _tf32_round_cases(rng) -> list[Case]:
    def plain(size):
        return normal(rng, (size,), "float32")

    return [
        _round_case("whole tiles", plain(4096)),
        _round_case("ragged N", plain(4096 + ragged(rng, 3, 900)), "N"),
        _round_case("smaller than a tile", plain(ragged(rng, 3, 15)), "N"),
        _round_case("one element", plain(1), "N"),
        _round_case("empty", plain(0), "empty"),
        _round_case("TF32 already", to_tf32(plain(1024)), "values"),
        _round_case("ties", _ties(rng, 1024), "values"),
        _round_case("beside ties", _beside_ties(rng, 1024), "values"),
        _round_case("just below powers of 2", _below_powers_of_2(rng, 1024), "values"),
        _round_case("of all sizes", _of_all_sizes(rng, 1024), "values"),
        _round_case("zeros", np.zeros(1024, np.float32), "values"),
    ]


def _wrong_roundings(x: np.ndarray) -> Answers:
    """What the usual slips make of float32 numbers."""
    yield "rounding_wrong", x
    for cut in range(CUT - 2, CUT + 4):
        half = 1 << (cut - 1)
        yield "rounding_wrong", _kept(x, cut, 0)  # cut off
        yield "rounding_wrong", _kept(x, cut, half)  # ties away from zero
        yield "rounding_wrong", _kept(x, cut, half - 1)  # ties toward zero
        if cut != CUT:
            yield "rounding_wrong", _kept(x, cut, half - 1 + _last_kept_bit(x, cut))
    yield "rounding_wrong", _kept(x, CUT, HALF - 1 + (1 - _last_kept_bit(x, CUT)))  # ties to odd
    yield "rounding_wrong", _kept(x, CUT, 2 * HALF)  # always up
    yield "rounding_wrong", (x.view(np.uint32) + HALF - 1 + _last_kept_bit(x, CUT)).view(np.float32)
    for dtype in ("float16", "bfloat16"):
        yield "rounding_wrong", rounded(x, dtype).astype(np.float32)


def _tf32_round_hypotheses(case: Case, tiles: set[int]) -> Answers:
    (x,) = (o.values for o in case.operands)
    for cause, wrong in _wrong_roundings(x):
        yield cause, wrong.astype(np.float64)
    whole = np.trunc(np.clip(x, -(2.0**31), 2.0**31 - 1)).astype(np.int64).astype(np.uint32)
    added = whole + np.uint32(HALF - 1) + (whole >> CUT & 1)
    yield "bitcast_missing", (added >> CUT << CUT).astype(np.float64)
    yield "bitcast_missing", (added >> CUT << CUT).view(np.float32).astype(np.float64)
    bits = to_tf32(x).view(np.uint32)
    yield "bitcast_missing", bits.astype(np.float64)
    yield "bitcast_missing", bits.astype(np.int32).astype(np.float64)
    for tile in tiles:
        if x.size > tile:
            yield "pointer_not_advanced", to_tf32(x[np.arange(x.size) % tile]).astype(np.float64)


tf32_round = Task(_tf32_round_cases, _tf32_round_hypotheses, otherwise="rounding_wrong")


# --- tf32_matmul ------------------------------------------------------------------------------


def _with_values(case: Case, change) -> Case:
    """The case with the values of both operands changed, and with no expectation."""
    operands = tuple(replace(o, values=change(o.values)) for o in case.operands)
    return replace(case, operands=operands)


def _product_of_rounded(case: Case) -> Case:
    a, b = (wide(o) for o in _with_values(case, to_tf32).operands)
    return replace(case, expected=a @ b, bound=rounding_of(a, b, "float32"), coarse=0.0)


def _tf32_matmul_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, m, n, k, change=lambda x: x, **kwargs):
        drawn = product_case(rng, name, m, n, k, dtype="float32", **kwargs)
        return _product_of_rounded(_with_values(drawn, change))

    def tied(x):
        return _ties(rng, x.size).reshape(x.shape)

    return [
        case("whole tiles", 64, 64, 64),
        case("several tiles", 128, 192, 64, focus="rectangular"),
        case("ragged M", 64 + odd(3, 60), 64, 64, focus="M"),
        case("ragged N", 64, 64 + odd(3, 60), 64, focus="N"),
        case("ragged K", 64, 64, 64 + odd(3, 60), focus="K"),
        case("ragged everywhere", odd(133, 160), odd(133, 160), odd(33, 60), focus="MNK"),
        case("smaller than a tile", odd(3, 7), odd(9, 15), odd(17, 31), focus="MNK"),
        case("no rows", 0, 64, 64, focus="empty"),
        case("A transposed", 64, 64, 128, a="transposed", focus="strides:a"),
        case("B transposed", 64, 64, 128, b="transposed", focus="strides:b"),
        case("padded rows", odd(33, 60), 64, 64, a="padded", b="padded", focus="strides:ab"),
        case("A beyond 2³¹ elements", odd(33, 60), 32, 64, a="far", focus="int64"),
        case("ties", 32, 32, 64, change=tied, focus="values"),
        # float16 has as many bits of fraction, and too few of exponent for these.
        case("small numbers", 32, 32, 64, change=lambda x: x * np.float32(2**-20), focus="values"),
        case("large numbers", 32, 32, 64, change=lambda x: x * np.float32(2**20), focus="values"),
        case("long K", 32, 32, 512 + odd(3, 30), focus="precision"),
    ]


def _tf32_matmul_hypotheses(case: Case, tiles: set[int]) -> Answers:
    yield from product_hypotheses(_with_values(case, to_tf32), tiles)
    a, b = (o.values for o in case.operands)
    right_a, right_b = to_tf32(a).astype(np.float64), to_tf32(b).astype(np.float64)
    yield "rounding_wrong", to_tf32(case.expected.astype(np.float32)).astype(np.float64)
    yield (
        "rounding_wrong",
        to_tf32((a.astype(np.float64) @ b).astype(np.float32)).astype(np.float64),
    )
    for (cause, wrong_a), (_, wrong_b) in zip(_wrong_roundings(a), _wrong_roundings(b)):
        wrong_a, wrong_b = wrong_a.astype(np.float64), wrong_b.astype(np.float64)
        yield cause, wrong_a @ wrong_b
        yield cause, wrong_a @ right_b
        yield cause, right_a @ wrong_b


tf32_matmul = Task(_tf32_matmul_cases, _tf32_matmul_hypotheses, otherwise="rounding_wrong")
