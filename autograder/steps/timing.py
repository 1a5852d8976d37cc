"""Steps `bench_ms` and `cold_bench_ms` of chapter 2, graded on a pretended device.

The device takes the milliseconds that are drawn here and no others (worker/stopwatch.py), so the
right answer is known and no busy machine can change it. What may differ between right functions is
the price of a launch and of reading the clock, which is far below `RELATIVE` of any time drawn.
"""

import statistics
from collections.abc import Callable

import numpy as np

from autograder.shared import LAUNCH_MS, LOOK_MS
from autograder.steps.calls import Call, CallCase, CallTask, Work

RELATIVE = 0.02
TOO_MANY = 700.0  # milliseconds of a call that a right function never makes


def _draw(rng: np.random.Generator, count: int, low: float = 2.0, high: float = 6.0) -> list[float]:
    return [float(t) for t in np.round(rng.uniform(low, high, size=count), 3)]


def _shuffled(rng: np.random.Generator, count: int, slow: int = 0) -> list[float]:
    """Times of at least five calls, `slow` of them far longer. The median is neither the first, the
    last nor the middle one of the list, nor near any other time.
    """
    steps = np.cumsum(rng.uniform(0.3, 0.9, size=count)) + 2.0
    steps[count - slow :] = rng.integers(80, 200, size=slow)
    times = np.round(steps, 3)
    middle = times[count // 2]
    while middle in times[[0, count // 2, -1]]:
        times = rng.permutation(times)
    return [float(t) for t in times]


def _timed(fn: Work, warmup: int, repeats: int) -> list[float]:
    return list(fn.milliseconds[warmup : warmup + repeats])


def _all(fn: Work, warmup: int, repeats: int) -> list[float]:
    return list(fn.milliseconds[: warmup + repeats])


def _late_start(fn: Work, warmup: int, repeats: int) -> list[float]:
    """The times when nobody waits for the warm-up: the first one contains it."""
    first, *rest = _timed(fn, warmup, repeats)
    return [sum(fn.milliseconds[:warmup]) + first, *rest]


def _summaries(times: Callable) -> tuple[tuple[str, Callable], ...]:
    """Other numbers than the median of the times that `times(*arguments)` lists."""

    def of(summary):
        return lambda *arguments: summary(times(*arguments))

    return (
        ("median_wrong", of(statistics.mean)),
        ("median_wrong", of(min)),
        ("median_wrong", of(max)),
        ("median_wrong", of(lambda t: t[-1])),
        ("median_wrong", of(lambda t: t[0])),
        ("median_wrong", of(lambda t: t[len(t) // 2])),  # of the list as it was filled
        ("total_time", of(sum)),
        ("total_time", of(lambda t: statistics.median(t) / len(t))),
        ("unit_wrong", of(lambda t: statistics.median(t) / 1e3)),
        ("unit_wrong", of(lambda t: statistics.median(t) * 1e3)),
        ("unit_wrong", of(lambda t: statistics.median(t) * 1e6)),
        ("unit_wrong", of(lambda t: statistics.mean(t) / 1e3)),
        ("unit_wrong", of(lambda t: sum(t) / 1e3)),
    )


# The host's part of a call alone, the clock read once or a few times on the way.
_LAUNCH_ONLY = tuple(
    ("not_synchronised", lambda *_, ms=LAUNCH_MS + looks * LOOK_MS: ms) for looks in range(4)
)


# --- bench_ms ---------------------------------------------------------------------------------


def _bench_case(name: str, warm: list[float], times: list[float], world: str = "gpu") -> CallCase:
    """A case whose warm-up calls take `warm` and whose timed calls take `times`."""
    fn = Work((*warm, *times, TOO_MANY))
    size = {"warmup": len(warm), "repeats": len(times), "device": world}
    call = Call((fn, len(warm), len(times)), statistics.median(times))
    return CallCase(name, size, (call,), RELATIVE, world)


def _bench_cases(rng) -> list[CallCase]:
    return [
        _bench_case("two slow calls", _draw(rng, 2, 15, 20), _shuffled(rng, 7, slow=2)),
        _bench_case("one timed call after a warm-up", _draw(rng, 3, 9, 15), _draw(rng, 1)),
        _bench_case("one call and no warm-up", [], _draw(rng, 1)),
        _bench_case("no GPU", _draw(rng, 2, 9, 15), _shuffled(rng, 5), "cpu"),
    ]


bench_ms = CallTask(
    _bench_cases,
    (
        *_LAUNCH_ONLY,
        ("warmup_timed", lambda *a: statistics.median(_late_start(*a))),
        ("warmup_timed", lambda *a: statistics.median(_all(*a))),
        ("warmup_timed", lambda *a: statistics.mean(_all(*a))),
        ("warmup_timed", lambda fn, _, repeats: statistics.median(fn.milliseconds[:repeats])),
        ("warmup_timed", lambda fn, _, repeats: statistics.mean(fn.milliseconds[:repeats])),
        ("warmup_timed", lambda fn, _, repeats: statistics.median(_timed(fn, 1, repeats))),
        ("warmup_timed", lambda fn, n, repeats: statistics.median(_timed(fn, n + 1, repeats))),
        *_summaries(_timed),
    ),
    otherwise="median_wrong",
)


# --- cold_bench_ms ----------------------------------------------------------------------------


def _cold_case(rng, name: str, warm: list, times: list, world: str = "gpu") -> CallCase:
    """As `_bench_case`; a call straight after another one is warm, and takes a tenth or less."""
    fn = Work((*warm, *times, TOO_MANY), again=0.3)
    clear = Work(tuple(_draw(rng, 1, 11, 25)), name="clear_cache")
    size = {"warmup": len(warm), "repeats": len(times), "device": world}
    call = Call((fn, clear, len(warm), len(times)), statistics.median(times))
    return CallCase(name, size, (call,), RELATIVE, world)


def _cold_cases(rng) -> list[CallCase]:
    return [
        _cold_case(rng, "two slow calls", _draw(rng, 2, 15, 20), _shuffled(rng, 7, slow=2)),
        _cold_case(rng, "one timed call after a warm-up", _draw(rng, 3, 9, 15), _draw(rng, 1)),
        _cold_case(rng, "one call and no warm-up", [], _draw(rng, 1)),
        _cold_case(rng, "no GPU", _draw(rng, 2, 9, 15), _shuffled(rng, 5), "cpu"),
    ]


def _cold_timed(fn: Work, clear: Work, warmup: int, repeats: int) -> list[float]:
    return _timed(fn, warmup, repeats)


def _with_clearing(fn: Work, clear: Work, warmup: int, repeats: int) -> list[float]:
    return [t + clear.milliseconds[0] for t in _timed(fn, warmup, repeats)]


def _cleared_once(fn: Work, clear: Work, warmup: int, repeats: int) -> list[float]:
    return [fn.milliseconds[warmup], *[fn.again] * (repeats - 1)]


def _never_cleared(fn: Work, clear: Work, warmup: int, repeats: int) -> list[float]:
    return ([] if warmup else [fn.milliseconds[0]]) + [fn.again] * (repeats - (not warmup))


def _without_warmup(fn: Work, clear: Work, warmup: int, repeats: int) -> list[float]:
    return list(fn.milliseconds[:repeats])


def _median_of(times: Callable) -> Callable:
    return lambda *arguments: statistics.median(times(*arguments))


def _mean_of(times: Callable, unit: float = 1.0) -> Callable:
    return lambda *arguments: statistics.mean(times(*arguments)) * unit


def _clearing_without_warmup(fn: Work, clear: Work, warmup: int, repeats: int) -> list[float]:
    return _with_clearing(fn, clear, 0, repeats)


cold_bench_ms = CallTask(
    _cold_cases,
    (
        *_LAUNCH_ONLY,
        ("cache_not_cleared", _median_of(_cleared_once)),
        ("cache_not_cleared", _median_of(_never_cleared)),
        ("cache_not_cleared", _mean_of(_cleared_once)),
        ("cache_not_cleared", _mean_of(_never_cleared)),
        ("clearing_timed", _median_of(_with_clearing)),
        ("clearing_timed", _mean_of(_with_clearing)),
        ("clearing_timed", _median_of(_clearing_without_warmup)),
        ("clearing_timed", _mean_of(_clearing_without_warmup)),
        ("clearing_timed", _mean_of(_clearing_without_warmup, 1e-3)),
        ("warmup_timed", _median_of(_without_warmup)),
        ("warmup_timed", _mean_of(_without_warmup)),
        ("warmup_timed", lambda fn, clear, n, m: statistics.median(_timed(fn, 1, m))),
        *_summaries(_cold_timed),
    ),
    otherwise="clearing_timed",
)
