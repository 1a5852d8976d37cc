"""Row reductions that sum: the bounds by theory, and which case shows which mistake.

Arithmetic is simulated in NumPy, so that cases and bounds are tested apart from any kernel.
"""

import numpy as np
import pytest

from autograder.formats import rounded
from autograder.steps.row_sums import layer_norm, log_sum_exp

SEEDS = range(20)
LOG2_E = np.float32(1.4426950408889634)
GPU = 2.0**-22  # how far exp, log, root and division may be off on a GPU, relative


def battery(task, seed):
    return task.cases(np.random.default_rng(seed))


def entries(case):
    return case.operands[0].values.astype(np.float32)


def outside(case, result) -> int:
    with np.errstate(all="ignore"):
        result = rounded(result, case.dtype).astype(np.float64)
        return int((~(np.abs(result - case.expected) <= case.bound)).sum())


def in_order(x):
    """The sum of each row in the worst order: one term after the other."""
    return np.cumsum(x, axis=1, dtype=np.float32)[:, -1]


def pairwise(x):
    return x.sum(axis=1, dtype=np.float32)


def off(x, seed=0):
    error = np.random.default_rng(seed).uniform(-GPU, GPU, np.shape(x))
    return (x * (1 + error)).astype(np.float32)


def exact(x):
    return x


# --- log_sum_exp ------------------------------------------------------------------------------


def natural(x, add=pairwise, unit=exact):
    m = x.max(axis=1)
    return m + unit(np.log(add(unit(np.exp(x - m[:, None])))))


def base_two(x):
    m = x.max(axis=1) * LOG2_E
    return (m + np.log2(pairwise(np.exp2(x * LOG2_E - m[:, None])))) / LOG2_E


def in_one_pass(x, block=256):
    m, total = np.full(x.shape[0], -np.inf, np.float32), np.zeros(x.shape[0], np.float32)
    for first in range(0, x.shape[1], block):
        part = x[:, first : first + block]
        new = np.maximum(m, part.max(axis=1))
        base = np.where(np.isneginf(new), np.float32(0), new)
        total = total * np.exp(m - base) + pairwise(np.exp(part - base[:, None]))
        m = new
    return m + np.log(total)


@pytest.mark.parametrize("seed", SEEDS)
def test_fp32_log_sum_exp_is_inside_in_every_order(seed):
    ways = (
        natural,
        base_two,
        in_one_pass,
        lambda x: natural(x, add=in_order),
        lambda x: natural(x, unit=off),
    )
    for case in battery(log_sum_exp, seed):
        for number, way in enumerate(ways):
            with np.errstate(all="ignore"):
                assert outside(case, way(entries(case))) == 0, (number, case.name)


def with_maximum(maximum):
    def way(x):
        m = maximum(x)
        return m + np.log(pairwise(np.exp(x - m[:, None])))

    return way


WRONG_SUMS = {
    "no maximum": (
        with_maximum(lambda x: 0 * x[:, 0]),
        ["near -300, whole tiles", "exp overflows"],
    ),
    "maximum from 0": (
        with_maximum(lambda x: np.maximum(x.max(axis=1), 0)),
        ["near -300, whole tiles"],
    ),
    "maximum from -1e9": (
        with_maximum(lambda x: np.maximum(x.max(axis=1), np.float32(-1e9))),
        ["rows of equal entries"],
    ),
    "maximum of the first block": (
        with_maximum(lambda x: x[:, :512].max(axis=1)),
        ["maximum in one place"],
    ),
    "maximum of the last block": (
        with_maximum(lambda x: x[:, (x.shape[1] - 1) // 512 * 512 :].max(axis=1)),
        ["maximum in one place"],
    ),
    "last column missing": (lambda x: natural(x[:, :-1]), ["whole tiles", "several blocks"]),
    "one lane of 0 too many": (
        lambda x: natural(np.pad(x, ((0, 0), (0, 1)))),
        ["ragged C", "long rows, ragged C", "near -300, ragged C"],
    ),
    "float16 arithmetic": (
        lambda x: natural(x, unit=lambda e: e.astype(np.float16).astype(np.float32)),
        ["whole tiles", "ragged C"],
    ),
}


@pytest.mark.parametrize(("wrong", "names"), WRONG_SUMS.values(), ids=WRONG_SUMS)
def test_the_case_made_for_a_mistake_shows_it(wrong, names):
    _shows(log_sum_exp, lambda case: wrong(entries(case)), names)


def _shows(task, answer, names):
    for seed in SEEDS:
        cases = {case.name: case for case in battery(task, seed)}
        for name in names:
            with np.errstate(all="ignore"):
                assert outside(cases[name], answer(cases[name])) > 0, (seed, name)


# --- layer_norm -------------------------------------------------------------------------------


def norm(case, add=pairwise, unit=exact, ddof=0):
    x, eps, count = entries(case), np.float32(case.more[0]), np.float32(case.size["C"])
    mean = unit(add(x) / count)[:, None]
    distance = x - mean
    variance = add(distance * distance) / (count - np.float32(ddof))
    return unit(distance / unit(np.sqrt(variance + eps))[:, None])


def by_moments(case):
    """The mean of the squares minus the square of the mean."""
    x, eps, count = entries(case), np.float32(case.more[0]), np.float32(case.size["C"])
    mean = pairwise(x) / count
    variance = pairwise(x * x) / count - mean * mean
    return (x - mean[:, None]) / np.sqrt(variance + eps)[:, None]


def padding_in_variance(case):
    """Masked lanes up to the next power of two count as 0 - mean."""
    x, eps, cols = entries(case), case.more[0], case.size["C"]
    mean = x.mean(axis=1, keepdims=True)
    lanes = (1 << (cols - 1).bit_length()) - cols
    squares = ((x - mean) ** 2).sum(axis=1, keepdims=True) + lanes * mean**2
    return (x - mean) / np.sqrt(squares / cols + eps)


def without_eps(case):
    x = entries(case)
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_fp32_layer_norm_is_inside_in_every_order(seed):
    for case in battery(layer_norm, seed):
        for result in (norm(case), norm(case, add=in_order), norm(case, unit=off)):
            assert outside(case, result) == 0, case.name


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        (by_moments, ["far from zero"]),
        (padding_in_variance, ["rows off centre"]),
        (without_eps, ["small spread", "large eps", "rows of equal entries"]),
        (lambda case: norm(case, ddof=1), ["whole tiles", "long rows, ragged C", "one row"]),
    ],
    ids=["moments", "padding", "no eps", "C - 1"],
)
def test_the_case_made_for_a_wrong_variance_shows_it(wrong, names):
    _shows(layer_norm, wrong, names)


def test_squares_and_sums_of_large_float16_rows_overflow_float16():
    for seed in SEEDS:
        (case,) = (c for c in battery(layer_norm, seed) if c.name == "large float16")
        x = case.operands[0].values
        with np.errstate(over="ignore"):
            assert np.isinf(x.sum(axis=1, dtype=np.float16)).all()
            assert np.isinf(((x - x.mean(axis=1, keepdims=True)) ** 2).max())


# --- what the steps promise ---------------------------------------------------------------------


@pytest.mark.parametrize("task", [log_sum_exp, layer_norm], ids=["log_sum_exp", "layer_norm"])
def test_no_case_asks_for_what_is_not_promised(task):
    for seed in SEEDS:
        cases = battery(task, seed)
        for case in cases:
            x = entries(case)
            assert not np.isnan(x).any() and not np.isposinf(x).any(), case.name
            assert np.isfinite(x).any(axis=1).all(), f"{case.name}: a row of -inf only"
            assert np.isfinite(x).all() or task is log_sum_exp, case.name
            assert np.isfinite(case.expected).all() and np.isfinite(case.bound).all(), case.name
        layouts = {case.operands[0].layout for case in cases}
        assert layouts == {"contiguous", "transposed", "padded", "sliced", "expanded", "far"}
        assert {case.operands[0].dtype for case in cases} == {
            "float16",
            "bfloat16",
            "float32",
        }
