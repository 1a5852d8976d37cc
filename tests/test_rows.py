"""Row reductions: the bound by theory, and which case shows which mistake.

Arithmetic is simulated in NumPy, so that cases and bounds are tested apart from any kernel.
"""

import numpy as np
import pytest

from autograder.formats import rounded
from autograder.steps.rows import online_softmax, row_max, softmax

SEEDS = range(20)
STEPS = pytest.mark.parametrize("task", [softmax, online_softmax], ids=["softmax", "online"])
LOG2_E = np.float32(1.4426950408889634)
LOW = np.float32(-np.inf)


def battery(task, seed):
    return task.cases(np.random.default_rng(seed))


def entries(case):
    return case.operands[0].values.astype(np.float32)


def outside(case, result) -> int:
    with np.errstate(all="ignore"):
        result = rounded(result, case.dtype).astype(np.float64)
        return int((~(np.abs(result - case.expected) <= case.bound)).sum())


def column(reduced):
    return reduced[:, None]


# --- right ways to compute a softmax ----------------------------------------------------------


def whole_row(x):
    e = np.exp(x - column(x.max(axis=1)))
    return e / column(e.sum(axis=1))


def term_by_term(x):
    """The sum in the worst order: one term after the other."""
    e = np.exp(x - column(x.max(axis=1)))
    return e / np.cumsum(e, axis=1, dtype=np.float32)[:, -1:]


def approximate_exp(x):
    """As a GPU does: exp errs by up to 2⁻²², what is below 2⁻¹²⁶ is 0, so does the division."""
    error = np.random.default_rng(0).uniform(-(2.0**-22), 2.0**-22, x.shape)
    e = (np.exp(x - column(x.max(axis=1))) * (1 + error)).astype(np.float32)
    e[e < 2.0**-126] = 0
    return (e / column(e.sum(axis=1)) * (1 - 2.0**-22)).astype(np.float32)


def powers_of_2_scaled_before(x):
    return powers(x * LOG2_E)


def powers_of_2_scaled_after(x):
    return powers((x - column(x.max(axis=1))) * LOG2_E)


def powers(z):
    e = np.exp2(z - column(z.max(axis=1)))
    return e * (np.float32(1) / column(e.sum(axis=1)))


def log_sum_exp(x):
    z = x - column(x.max(axis=1))
    return np.exp(z - np.log(column(np.exp(z).sum(axis=1))))


def stream(x, block, start=LOW, running=True, correct=lambda old, new: np.exp(old - new), end=None):
    """Online softmax in fp32; the defaults are right, and guarded where all is -inf."""
    m = np.full((x.shape[0], 1), start, np.float32)
    total = np.zeros_like(m)
    for first in range(0, end or x.shape[1], block):
        part = x[:, first : first + block]
        top = column(part.max(axis=1))
        new = np.maximum(m, top) if running else top
        base = np.where(np.isneginf(new), np.float32(0), new)
        total = total * correct(m, base) + column(np.exp(part - base).sum(axis=1))
        m = new
    return np.exp(x - m) / total


def in_blocks_of(block):
    return lambda x: stream(x, block)


RIGHT = [
    whole_row, term_by_term, approximate_exp, powers_of_2_scaled_before, powers_of_2_scaled_after,
    log_sum_exp, in_blocks_of(64), in_blocks_of(1024), in_blocks_of(4096),
]  # fmt: skip


@STEPS
@pytest.mark.parametrize("seed", SEEDS)
def test_fp32_arithmetic_is_inside_in_every_order(task, seed):
    for case in battery(task, seed):
        for right in RIGHT:
            with np.errstate(under="ignore", divide="ignore"):
                result = right(entries(case))
            assert outside(case, result) == 0, (right, case.name)


# --- wrong ones, and the case that shows each ---------------------------------------------------


def padded(x, other):
    """A row with lanes past its end, up to the next power of two."""
    width = 1 << (x.shape[1] - 1).bit_length()
    return np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=other)


def with_padding(other):
    return lambda x: whole_row(padded(x, np.float32(other)))[:, : x.shape[1]]


def half(x):
    e = np.exp((x - column(x.max(axis=1))).astype(np.float16)).astype(np.float32)
    return e / column(e.sum(axis=1))


def unshifted(x):
    return np.exp(x) / column(np.exp(x).sum(axis=1))


def one_maximum(x):
    e = np.exp(x - x.max())
    return e / column(e.sum(axis=1))


def last_missing(x):
    """The last column left out of the sum."""
    e = np.exp(x - column(x.max(axis=1)))
    return e / column(e[:, :-1].sum(axis=1))


WRONG = {
    "padding counts as 0": (softmax, with_padding(0), ["ragged C", "near -300"]),
    "padding counts as -1e9": (softmax, with_padding(-1e9), ["rows of equal entries"]),
    "max not subtracted": (softmax, unshifted, ["near -300", "exp overflows"]),
    "one maximum for all rows": (softmax, one_maximum, ["rows on different levels"]),
    "float16 arithmetic": (softmax, half, ["whole tiles", "ragged C", "many rows"]),
    "last column missing": (softmax, last_missing, ["whole tiles", "long rows, ragged C"]),
    "sum not corrected": (
        online_softmax,
        lambda x: stream(x, 256, correct=lambda old, new: 1.0),
        ["whole blocks", "rising", "float16"],
    ),
    "block maximum": (
        online_softmax,
        lambda x: stream(x, 256, running=False),
        ["first far above"],
    ),
    "maximum from 0": (online_softmax, lambda x: stream(x, 256, start=0.0), ["near -300"]),
    "maximum from -1e9": (
        online_softmax,
        lambda x: stream(x, 256, start=-1e9),
        ["rows of equal entries"],
    ),
    "tail dropped": (
        online_softmax,
        lambda x: stream(x, 256, end=x.shape[1] // 256 * 256),
        ["several blocks, ragged C", "float16"],
    ),
    "float16 arithmetic, online": (online_softmax, half, ["one block", "ragged C"]),
}


@pytest.mark.parametrize(("task", "wrong", "names"), WRONG.values(), ids=WRONG)
def test_the_case_made_for_a_mistake_shows_it(task, wrong, names):
    for seed in SEEDS:
        shown = {case.name: case for case in battery(task, seed) if case.name in names}
        assert set(shown) == set(names)
        for name, case in shown.items():
            with np.errstate(all="ignore"):
                assert outside(case, wrong(entries(case))) > 0, (seed, name)


@pytest.mark.parametrize("block", [64, 256, 1024, 2048, 4096])
def test_an_unguarded_infinity_shows_whatever_the_block_size(block):
    for seed in SEEDS:
        (case,) = (c for c in battery(online_softmax, seed) if c.focus == "empty block")
        x = entries(case)
        first = x[:, :block]
        assert np.isneginf(first).all(axis=1).any()
        assert np.isfinite(x).any(axis=1).all()


# --- row_max ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_maximum_is_exact_and_other_than_minus_infinity_shows(seed):
    cases = battery(row_max, seed)
    for case in cases:
        assert outside(case, entries(case).max(axis=1)) == 0, case.name
    by_name = {case.name: case for case in cases}
    for other, name in (
        (0.0, "all negative, ragged C"),
        (-1e9, "rows of equal entries"),
        (np.nan, "ragged C"),
    ):
        case = by_name[name]
        assert outside(case, padded(entries(case), np.float32(other)).max(axis=1)) > 0, name
    started_at_0 = np.maximum(by_name["all negative, whole tiles"].expected, 0)
    assert outside(by_name["all negative, whole tiles"], started_at_0) > 0


# --- what the steps promise ---------------------------------------------------------------------


@pytest.mark.parametrize("task", [row_max, softmax, online_softmax])
def test_no_case_asks_for_what_is_not_promised(task):
    for seed in SEEDS:
        cases = battery(task, seed)
        for case in cases:
            x = entries(case)
            assert not np.isnan(x).any() and not np.isposinf(x).any(), case.name
            assert np.isfinite(x).any(axis=1).all(), f"{case.name}: a row of -inf only"
            assert np.isfinite(case.expected).all() and np.isfinite(case.bound).all(), case.name
        assert any(np.isneginf(entries(case)).any() for case in cases)
        layouts = {case.operands[0].layout for case in cases}
        assert layouts == {"contiguous", "transposed", "padded", "sliced", "expanded", "far"}
        assert {case.dtype for case in cases} == {
            "float16",
            "bfloat16",
            "float32",
        }
        assert max(case.size["R"] for case in cases) > 64  # more than the wrapper's programs
