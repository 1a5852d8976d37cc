"""Step `within_rounding` of chapter 7: a test of matrix products, which is itself tested.

It is shown results that are right and results that are wrong, mixed in every case, and must tell them
apart. Any tolerance that does so is right: the right results lie far inside the bound of
steps/matmul.py, and the wrong ones outside of K·2⁻²⁴·(|A||B|) too, which is what a rigorous analysis
allows (tests/test_tolerance.py). Must never show a result about which two sound tests may differ.
"""

from dataclasses import dataclass

import numpy as np

from autograder.steps.calls import Call, CallCase, CallTask
from autograder.steps.matmul import rounding_of
from autograder.steps.tf32 import to_tf32

# --- results, right and wrong -----------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """A result `c` of a·b, what is to be said of it, and how it came about."""

    c: np.ndarray
    a: np.ndarray
    b: np.ndarray
    right: bool
    story: str


def _summed(a: np.ndarray, b: np.ndarray, dtype, order=slice(None), tile: int = 1) -> np.ndarray:
    """The product summed in `dtype`, tile by tile along K, in the order given."""
    a, b = a[:, order], b[order]
    total = np.zeros((a.shape[0], b.shape[1]), dtype)
    for k in range(0, a.shape[1], tile):
        step = a[:, k : k + tile].astype(np.float32) @ b[k : k + tile].astype(np.float32)
        total = (total + step.astype(dtype)).astype(dtype)
    return total


def _right(a: np.ndarray, b: np.ndarray) -> list[Product]:
    ways = {
        "summed in float32 from first to last": _summed(a, b, np.float32),
        "summed in float32 from last to first": _summed(a, b, np.float32, slice(None, None, -1)),
        "summed in float32 in tiles of 16": _summed(a, b, np.float32, tile=16),
    }
    return [Product(c.astype(a.dtype), a, b, True, story) for story, c in ways.items()]


def _wrong(c: np.ndarray, a: np.ndarray, b: np.ndarray, story: str) -> Product:
    return Product(np.asarray(c).astype(a.dtype), a, b, False, story)


def _in_tf32(a: np.ndarray, b: np.ndarray) -> Product:
    return _wrong(_summed(to_tf32(a), to_tf32(b), np.float32), a, b, "with operands cut to TF32")


def _stored_short(a: np.ndarray, b: np.ndarray) -> Product:
    c = to_tf32(_summed(a, b, np.float32))
    return _wrong(c, a, b, "stored with 11 bits in place of 24")


def _last_missing(a: np.ndarray, b: np.ndarray, count: int = 1) -> Product:
    c = _summed(a[:, :-count], b[:-count], np.float32)
    return _wrong(c, a, b, f"without the last {'product' if count == 1 else f'{count} products'}")


def _changed(a: np.ndarray, b: np.ndarray, index: tuple, value, story: str) -> Product:
    c = _summed(a, b, np.float32).astype(a.dtype)
    c[index] = value
    return _wrong(c, a, b, story)


# --- cases ------------------------------------------------------------------------------------


def _case(rng, name: str, products: list[Product]) -> CallCase:
    products = [
        products[i] for i in rng.permutation(len(products))
    ]  # no order to be learnt by heart
    (m, k), n = products[0].a.shape, products[0].b.shape[1]
    size = {"M": m, "N": n, "K": k, "dtype": products[0].a.dtype.name}
    calls = tuple(Call((p.c, p.a, p.b), p.right) for p in products)
    return CallCase(name, size, calls, remark=lambda came: _misjudged(came, products))


def _misjudged(came: list[bool], products: list[Product]) -> str:
    wrong = next((p for value, p in zip(came, products) if value != p.right), None)
    if wrong is None:
        return ""
    if wrong.right:
        return f"Your test refused a right result, {wrong.story}."
    return f"Your test accepted a wrong result, {wrong.story}."


def _cases(rng: np.random.Generator) -> list[CallCase]:
    def draw(m, n, k, dtype=np.float32, scale=1.0):
        a = (scale * rng.standard_normal((m, k))).astype(dtype)
        return a, rng.standard_normal((k, n)).astype(dtype)

    def usual(a, b):
        return [*_right(a, b), _in_tf32(a, b), _last_missing(a, b), _stored_short(a, b)]

    single = draw(12, 16, 64)
    half = draw(12, 16, 45, np.float16)
    return [
        _case(rng, "float32", usual(*single)),
        _case(rng, "float16", [*_right(*half), _last_missing(*half), _off_by_four_units(*half)]),
        _case(rng, "long sums in float16", _long_sums_in_float16(*draw(8, 8, 1024, np.float16))),
        _case(rng, "long sums of positive numbers", _long_sums(*map(np.abs, draw(3, 3, 8192)))),
        _case(rng, "results near zero", _near_zero(rng, *draw(8, 8, 64))),
        _case(rng, "small numbers", usual(*draw(12, 16, 64, scale=1e-6))),
        _case(rng, "large numbers", usual(*draw(12, 16, 64, scale=1e5))),
        _case(rng, "rows of different size", _rows_of_different_size(*draw(12, 16, 64))),
        _case(rng, "one element", _one_element(rng, *draw(12, 16, 64))),
        _case(rng, "not numbers", _not_numbers(rng, *draw(12, 16, 64))),
    ]


def _off_by_four_units(a: np.ndarray, b: np.ndarray) -> Product:
    c = _summed(a, b, np.float32).astype(np.float16)
    index = np.unravel_index(np.abs(c).argmax(), c.shape)
    value = c[index] * np.float16(1 + 4 * 2.0**-10)
    return _changed(a, b, index, value, "with one element off by four units in the last place")


def _long_sums_in_float16(a: np.ndarray, b: np.ndarray) -> list[Product]:
    short = _wrong(_summed(a, b, np.float16), a, b, "summed in float16")
    return [*_right(a, b), short]


def _long_sums(a: np.ndarray, b: np.ndarray) -> list[Product]:
    return [*_right(a, b), _last_missing(a, b, 256)]


def _near_zero(rng, a: np.ndarray, b: np.ndarray) -> list[Product]:
    """The second half of every sum nearly cancels the first; in one product nothing cancels."""
    nothing_cancels = _right(np.abs(a), np.abs(b))[0]
    half = a.shape[1] // 2
    a[:, half:] = -a[:, :half] * np.float32(1 + 2**-20)
    b[half:] = b[:half]
    row = int(rng.integers(a.shape[0]))
    value = np.float32(2.0**-12) * (np.abs(a[row]) @ np.abs(b[:, 0]))
    story = "with an element that should be near zero and is not"
    return [*_right(a, b), nothing_cancels, _changed(a, b, (row, 0), value, story)]


def _rows_of_different_size(a: np.ndarray, b: np.ndarray) -> list[Product]:
    a = a * np.logspace(-6, 6, a.shape[0], dtype=np.float32)[:, None]
    c = _summed(a, b, np.float32)
    smallest = np.vstack([_in_tf32(a, b).c[:1], c[1:]])
    largest = np.vstack([c[:-1], _last_missing(a, b).c[-1:]])
    return [
        *_right(a, b),
        _wrong(smallest, a, b, "whose smallest row has operands cut to TF32"),
        _wrong(largest, a, b, "whose largest row lacks the last product"),
    ]


def _one_element(rng, a: np.ndarray, b: np.ndarray) -> list[Product]:
    exact = a.astype(np.float64) @ b
    row, col = (int(rng.integers(n)) for n in exact.shape)
    neighbour = exact[row, (col + 1) % exact.shape[1]]
    off = exact[row, col] + 2.0**-10 * (np.abs(a[row]) @ np.abs(b[:, col]))
    return [
        *_right(a, b),
        _changed(a, b, (row, col), neighbour, "with one element from the next column"),
        _changed(a, b, (row, col), off, "with one element that is slightly off"),
    ]


def _not_numbers(rng, a: np.ndarray, b: np.ndarray) -> list[Product]:
    index = tuple(int(rng.integers(n)) for n in (a.shape[0], b.shape[1]))
    return [
        *_right(a, b),
        _changed(a, b, index, np.nan, "with one element NaN"),
        _changed(a, b, ..., np.nan, "with every element NaN"),
        _changed(a, b, index, np.inf, "with one element infinite"),
    ]


# --- tests that are wrong ---------------------------------------------------------------------

SINGLE = 2.0**-24


def _exact(a, b) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


def _bound(a, b, dtype: str) -> np.ndarray:
    return rounding_of(a.astype(np.float64), b.astype(np.float64), dtype)


def _close(absolute: float, relative: float):
    return lambda c, a, b: np.allclose(c, _exact(a, b), rtol=relative, atol=absolute)


def _unit(c) -> float:
    return 2.0**-11 if c.dtype == np.float16 else SINGLE


def _of_terms(factor: float, power: float, unit=_unit):
    """Within factor·Kᵖᵒʷᵉʳ·(|A||B|) + u·|R|, with u from the type of c unless said otherwise."""

    def test(c, a, b):
        size = _exact(np.abs(a), np.abs(b))
        bound = factor * a.shape[1] ** power * size + unit(c) * np.abs(_exact(a, b))
        return bool((np.abs(c - _exact(a, b)) <= bound).all())

    return test


def _of_result_only(c, a, b) -> bool:
    """As the bound should be, but with |A·B| in place of |A|·|B|."""
    relative = 4 * SINGLE * a.shape[1] ** 0.5 + _unit(c)
    return bool((np.abs(c - _exact(a, b)) <= relative * np.abs(_exact(a, b))).all())


def _of_mean(c, a, b) -> bool:
    return bool(np.abs(c - _exact(a, b)).mean() <= _bound(a, b, c.dtype.name).mean())


def _of_largest(c, a, b) -> bool:
    return bool(np.abs(c - _exact(a, b)).max() <= _bound(a, b, c.dtype.name).max())


def _of_norm(relative: float):
    def test(c, a, b):
        error = np.linalg.norm(c - _exact(a, b)) / np.linalg.norm(_exact(a, b))
        return bool(error <= (2.0**-10 if c.dtype == np.float16 else relative))

    return test


def _nan_passes(c, a, b) -> bool:
    return not bool((np.abs(c - _exact(a, b)) > _bound(a, b, c.dtype.name)).any())


def _sums_as_in_its_type(c, a, b) -> bool:
    return _of_terms(4 * _unit(c), 0.5)(c, a, b)


_MISTAKES = (
    ("nan_accepted", _nan_passes),
    ("elements_averaged", _of_mean),
    ("elements_averaged", _of_largest),
    *(("elements_averaged", _of_norm(r)) for r in (1e-6, 1e-5, 1e-4)),
    # The next two may fail in a single case, where much else fails as well: they come first.
    ("tolerance_too_loose", _of_terms(4 * SINGLE, 0.5, unit=lambda c: 2.0**-11)),
    *(("tolerance_too_tight", _of_terms(f * SINGLE, 0.0)) for f in (1, 2, 4, 8)),
    ("tolerance_too_tight", _of_terms(4 * SINGLE, 0.5, unit=lambda c: 0.0)),
    ("tolerance_too_tight", lambda c, a, b: bool((c == _exact(a, b).astype(c.dtype)).all())),
    ("tolerance_not_scaled", _of_result_only),
    ("tolerance_too_loose", _sums_as_in_its_type),
    *(("tolerance_not_scaled", _close(10.0**-e, 0.0)) for e in range(1, 9)),
    *(("tolerance_not_scaled", _close(0.0, 10.0**-e)) for e in range(1, 8)),
    *(("tolerance_not_scaled", _close(10.0**-e, 10.0**-e)) for e in range(1, 8)),
    ("tolerance_not_scaled", _close(1e-8, 1e-5)),
    ("tolerance_too_loose", lambda c, a, b: True),
    ("tolerance_too_tight", lambda c, a, b: False),
)

within_rounding = CallTask(_cases, _MISTAKES, otherwise="tolerance_not_scaled")
