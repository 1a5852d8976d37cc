"""The step that is a test: sound tests pass it whatever their constants, unsound ones do not."""

from functools import cache

import numpy as np
import pytest

from autograder.formats import rounded
from autograder.steps.tf32 import to_tf32
from autograder.steps.tolerance import within_rounding

SEEDS = range(10)
SINGLE = 2.0**-24


@cache
def battery(seed):
    with np.errstate(all="ignore"):
        return within_rounding.cases(np.random.default_rng(seed))


def parts(c, a, b):
    """Error, |R| and |A||B| of each element, and the unit roundoff of c."""
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    exact = wide_a @ wide_b
    unit = 2.0**-11 if c.dtype == np.float16 else SINGLE
    return np.abs(c - exact), np.abs(exact), np.abs(wide_a) @ np.abs(wide_b), unit


def usual(c, a, b):
    error, result, size, unit = parts(c, a, b)
    return bool((error <= unit * result + 4 * SINGLE * a.shape[1] ** 0.5 * size).all())


def generous(c, a, b):
    error, result, size, unit = parts(c, a, b)
    return bool((error <= 1.5 * unit * result + 8 * SINGLE * a.shape[1] ** 0.5 * size).all())


def rigorous(c, a, b):
    """Higham, Accuracy and Stability of Numerical Algorithms, section 3.1: K roundings of one sign."""
    error, result, size, unit = parts(c, a, b)
    return bool((error <= unit * result + a.shape[1] * SINGLE * size).all())


def wrong_cases(test, seed) -> set[str]:
    with np.errstate(all="ignore"):
        return {
            case.name
            for case in battery(seed)
            for call in case.calls
            if test(*call.arguments) is not call.expected
        }


@pytest.mark.parametrize("test", [usual, generous, rigorous], ids=lambda t: t.__name__)
def test_sound_tests_are_right_whatever_their_constants(test):
    for seed in SEEDS:
        assert wrong_cases(test, seed) == set(), seed


def test_right_results_are_far_inside_and_wrong_ones_far_outside():
    """So that the order of a sum on another machine changes no verdict."""
    for seed in SEEDS:
        for case in battery(seed):
            for call in case.calls:
                with np.errstate(all="ignore"):
                    error, result, size, unit = parts(*call.arguments)
                    bound = unit * result + SINGLE * call.arguments[1].shape[1] * size
                    ratio = float(np.max(error / bound))
                if call.expected:
                    usual_bound = unit * result + 4 * SINGLE * case.size["K"] ** 0.5 * size
                    assert np.max(error / usual_bound) < 1, (seed, case.name)
                else:
                    assert not ratio < 1.5, (seed, case.name, ratio)


@pytest.mark.parametrize("verdict", [True, False])
def test_no_case_is_passed_by_one_answer_for_all(verdict):
    for seed in SEEDS:
        cases = battery(seed)
        assert wrong_cases(lambda c, a, b: verdict, seed) == {case.name for case in cases}


def test_the_order_of_right_and_wrong_results_changes_with_the_seed():
    orders = {
        tuple(call.expected for case in battery(seed) for call in case.calls) for seed in SEEDS
    }
    assert len(orders) > len(SEEDS) // 2


UNSOUND = {
    "nan passes": (
        lambda c, a, b: not bool((parts(c, a, b)[0] > parts(c, a, b)[1]).any()),
        "not numbers",
    ),
    "1e-2": (lambda c, a, b: np.allclose(c, a.astype(float) @ b, 1e-2, 1e-2), "float32"),
    "default allclose": (lambda c, a, b: np.allclose(c, a.astype(float) @ b), "small numbers"),
    "fixed 1e-3": (lambda c, a, b: np.allclose(c, a.astype(float) @ b, 0, 1e-3), "large numbers"),
    "of the result only": (
        lambda c, a, b: bool((parts(c, a, b)[0] <= 1e-5 * parts(c, a, b)[1]).all()),
        "results near zero",
    ),
    "no length": (
        lambda c, a, b: bool((parts(c, a, b)[0] <= 4 * SINGLE * parts(c, a, b)[2]).all()),
        "long sums of positive numbers",
    ),
    "no rounding of the output": (
        lambda c, a, b: bool((parts(c, a, b)[0] <= a.shape[1] * SINGLE * parts(c, a, b)[2]).all()),
        "float16",
    ),
    "mean": (
        lambda c, a, b: bool(parts(c, a, b)[0].mean() <= 1e-5 * parts(c, a, b)[2].mean()),
        "one element",
    ),
    "norm": (
        lambda c, a, b: bool(
            np.linalg.norm(c - a.astype(float) @ b) <= 1e-5 * np.linalg.norm(a.astype(float) @ b)
        ),
        "rows of different size",
    ),
    "float16 for all": (
        lambda c, a, b: bool((parts(c, a, b)[0] <= 2.0**-11 * parts(c, a, b)[2]).all()),
        "float32",
    ),
}


@pytest.mark.parametrize(("test", "name"), UNSOUND.values(), ids=UNSOUND)
def test_the_case_made_for_an_unsound_test_shows_it(test, name):
    for seed in SEEDS:
        assert name in wrong_cases(test, seed), seed


def test_every_mistake_that_is_told_fails_somewhere():
    for cause, test in within_rounding.mistakes:
        assert wrong_cases(test, 0), cause


# --- rounding to TF32 -------------------------------------------------------------------------


def test_tf32_has_ten_bits_of_fraction_and_rounds_ties_to_even():
    unit = 2.0**-10
    for steps, nearest in ((0.4, 0), (0.5, 0), (0.6, 1), (1.5, 2), (2.5, 2), (1023.9, 1024)):
        for sign in (1, -1):
            x = np.array([sign * (1 + steps * unit)], np.float32)
            assert to_tf32(x)[0] == sign * (1 + nearest * unit), steps


def test_tf32_is_float16_with_the_range_of_float32():
    x = np.random.default_rng(0).standard_normal(4096).astype(np.float32)
    x = x[np.abs(x) > 2.0**-14]
    assert (to_tf32(x) == x.astype(np.float16)).all()
    large = x * np.float32(2.0**40)
    assert (to_tf32(large) == to_tf32(x) * np.float32(2.0**40)).all()
    assert (rounded(large, "bfloat16") != to_tf32(large)).any()
