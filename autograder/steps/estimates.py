"""Arithmetic steps of chapters 1 and 2: bandwidths, intensities, rooflines, rates.

The answers are short formulas, so nearly every mistake is another formula, and is named by it.
"""

from collections.abc import Callable

import numpy as np

from autograder.steps.calls import CallCase, CallTask, calls_of

# Roundings of a few operations in float64, in any order; far below any mistake.
RELATIVE = 1e-12
PREFIXES = (1e3, 1e6, 1e9, 1e12)


def _floats(numbers: np.ndarray, digits: int) -> list[float]:
    return [float(n) for n in np.round(numbers, digits)]


def _case(name: str, right: Callable, *arguments: tuple) -> CallCase:
    return CallCase(name, {}, calls_of(right, arguments), RELATIVE)


def _times(right: Callable, factor: float) -> Callable:
    return lambda *arguments: factor * right(*arguments)


def _units(right: Callable) -> tuple[tuple[str, Callable], ...]:
    """Results that are off by prefixes, by bits for bytes, or by 1,024 for 1,000."""
    factors = [8.0, 1024.0, *PREFIXES, *(p / 8 for p in PREFIXES), *(p * 8 for p in PREFIXES)]
    factors += [1.024**k for k in (1, 2, 3, 4)]
    factors += [p / q for p in PREFIXES for q in (1.024, 1.024**3)]
    factors += [1 / f for f in factors]
    return tuple(("unit_wrong", _times(right, f)) for f in factors)


def _inverse(right: Callable) -> tuple[str, Callable]:
    return "quotient_inverted", lambda *arguments: 1 / right(*arguments)


def _integers(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    return [int(n) for n in rng.integers(low, high, size=count)]


# --- dram_bandwidth_tb_s ----------------------------------------------------------------------


def _dram_bandwidth(bus_bits: int, transfers_gt_s: float) -> float:
    return bus_bits / 8 * transfers_gt_s / 1e3


def _dram_cases(rng) -> list[CallCase]:
    rates = _floats(rng.uniform(1, 12, size=4), 2)
    wide = [1024 * n for n in _integers(rng, 1, 9, 4)]
    odd = [32 * n for n in _integers(rng, 1, 17, 4)]
    gpus = [(256, 10.0), (4096, 1.755), (5120, 3.186), (5120, 5.238), (6144, 6.25)]
    return [
        _case("the GPUs of the chapter", _dram_bandwidth, *gpus),
        _case("other buses", _dram_bandwidth, *zip(wide + odd, rates + rates[::-1])),
    ]


dram_bandwidth_tb_s = CallTask(
    _dram_cases,
    (
        ("unit_wrong", _times(_dram_bandwidth, 2)),  # DDR counted again
        ("unit_wrong", _times(_dram_bandwidth, 0.5)),
        *_units(_dram_bandwidth),
        _inverse(_dram_bandwidth),
    ),
    otherwise="unit_wrong",
)


# --- matmul_intensity -------------------------------------------------------------------------


def _intensity(M: int, N: int, K: int, itemsize: int) -> float:
    return 2 * M * N * K / ((M * K + K * N + M * N) * itemsize)


def _intensity_with(elements: Callable) -> Callable:
    """The intensity if `elements(M, N, K)` were moved."""
    return lambda M, N, K, itemsize: 2 * M * N * K / (elements(M, N, K) * itemsize)


def _intensity_cases(rng) -> list[CallCase]:
    n, M, N, K = (4 * k for k in _integers(rng, 20, 500, 4))
    return [
        _case("square, fp32", _intensity, (n, n, n, 4), (8 * n, 8 * n, 8 * n, 4)),
        _case("three different sizes", _intensity, (M, N + 4000, K + 8000, 4), (1, N, K + 8000, 4),
              (M + 4000, 1, K, 4), (M, N + 4000, 1, 4)),
        _case("other types", _intensity, (n, n, n, 2), (n, n, n, 1), (n, n, n, 8)),
    ]  # fmt: skip


_OTHER_TRAFFIC = (
    lambda M, N, K: M * K + K * N,  # C is left out
    lambda M, N, K: M * K + K * N + 2 * M * N,  # C is read as well
    lambda M, N, K: M * N * 2 * K + M * N,  # one load of A and of B for each product
    lambda M, N, K: 2 * M * N * K,
    lambda M, N, K: M * N + N * K + K * K,
    lambda M, N, K: M + N + K,
    lambda M, N, K: M * N,
    lambda M, N, K: M * M + N * N + K * K,
    lambda M, N, K: 3 * M * N,
    lambda M, N, K: 3 * M * K,
)

matmul_intensity = CallTask(
    _intensity_cases,
    (
        ("flop_miscounted", _times(_intensity, 0.5)),
        ("flop_miscounted", lambda M, N, K, size: _intensity(M, N, K, size) * (1 - 0.5 / K)),
        *(("traffic_miscounted", _intensity_with(e)) for e in _OTHER_TRAFFIC),
        ("traffic_miscounted", lambda M, N, K, size: _intensity(M, N, K, 1)),  # elements
        ("traffic_miscounted", lambda M, N, K, size: _intensity(M, N, K, 4)),
        ("traffic_miscounted", lambda M, N, K, size: _intensity(M, N, K, 2)),
        ("traffic_miscounted", lambda M, N, K, size: _intensity(M, N, K, 1) * size),
        _inverse(_intensity),
        *_units(_intensity),
    ),
    otherwise="traffic_miscounted",
)


# --- attainable_tflops ------------------------------------------------------------------------


def _attainable(intensity: float, peak_tflops: float, bandwidth_tb_s: float) -> float:
    return min(peak_tflops, intensity * bandwidth_tb_s)


def _machines(rng, count: int) -> list[tuple[float, float]]:
    peaks = _floats(rng.uniform(5, 1000, size=count), 1)
    return list(zip(peaks, _floats(rng.uniform(0.2, 5, size=count), 2)))


def _attainable_cases(rng) -> list[CallCase]:
    machines = _machines(rng, 3)
    below, above = rng.uniform(0.05, 0.6, size=3), rng.uniform(2, 30, size=3)
    below[0] /= 10_000  # so low that no factor between units reaches the peak
    near = [0.9, 1.1]

    def at(shares):
        return [(float(s) * p / b, p, b) for s, (p, b) in zip(shares, machines)]

    return [
        _case("memory is the limit", _attainable, *at(below)),
        _case("arithmetic is the limit", _attainable, *at(above)),
        _case("near the ridge point", _attainable, *at(near)),
        _case("no operations", _attainable, (0.0, *machines[0]), (0, *machines[1])),
    ]


def _added_up(intensity, peak, bandwidth):
    """The rate if loads and arithmetic waited for each other."""
    memory = intensity * bandwidth
    return peak * memory / (peak + memory)


attainable_tflops = CallTask(
    _attainable_cases,
    (
        ("wrong_limit", lambda i, p, b: max(p, i * b)),
        ("wrong_limit", lambda i, p, b: i * b),
        ("wrong_limit", lambda i, p, b: p),
        ("wrong_limit", lambda i, p, b: p + i * b),
        ("wrong_limit", _added_up),
        ("wrong_limit", lambda i, p, b: min(i, p / b)),
        ("wrong_limit", lambda i, p, b: p if i < p / b else i * b),
        ("quotient_inverted", lambda i, p, b: min(p, b / i) if i else 0.0),
        ("quotient_inverted", lambda i, p, b: min(p, i / b)),
        *_units(_attainable),
        *(("unit_wrong", lambda i, p, b, f=f: min(p, i * b * f)) for f in PREFIXES),
        *(("unit_wrong", lambda i, p, b, f=f: min(p, i * b / f)) for f in (8, 1024, *PREFIXES)),
    ),
    otherwise="wrong_limit",
)


# --- least_ms ---------------------------------------------------------------------------------


def _least(flop: float, moved: float, peak: float, bandwidth: float) -> float:
    return max(flop / (peak * 1e12), moved / (bandwidth * 1e12)) * 1e3


def _least_cases(rng) -> list[CallCase]:
    machines = _machines(rng, 3)
    seconds = rng.uniform(1e-5, 1e-2, size=(2, 3))
    share = rng.uniform(0.1, 0.6, size=3)

    def work(compute, memory):
        return [
            (round(c * p * 1e12), round(m * b * 1e12), p, b)
            for c, m, (p, b) in zip(compute, memory, machines)
        ]

    (flop, moved, *machine), *_ = work(*seconds)
    return [
        _case("memory is the limit", _least, *work(share * seconds[0], seconds[0])),
        _case("arithmetic is the limit", _least, *work(seconds[1], share * seconds[1])),
        _case(
            "nothing to compute, nothing to move",
            _least,
            (0, moved, *machine),
            (flop, 0, *machine),
        ),
    ]


def _half_scaled(compute: float, memory: float) -> Callable:
    """The least time with a wrong factor in one of its halves."""
    return lambda f, d, p, b: max(f / p * compute, d / b * memory) / 1e9


least_ms = CallTask(
    _least_cases,
    (
        ("wrong_limit", lambda f, d, p, b: (f / p + d / b) / 1e9),
        ("wrong_limit", lambda f, d, p, b: min(f / p, d / b) / 1e9),
        ("wrong_limit", lambda f, d, p, b: f / p / 1e9),
        ("wrong_limit", lambda f, d, p, b: d / b / 1e9),
        ("flop_miscounted", _half_scaled(2, 1)),
        ("flop_miscounted", _half_scaled(0.5, 1)),
        ("quotient_inverted", lambda f, d, p, b: max(p / f if f else 0, b / d if d else 0) * 1e15),
        *_units(_least),
        *(("unit_wrong", _half_scaled(1, k)) for k in (8, 1 / 8, 1e3, 1e-3)),
        *(("unit_wrong", _half_scaled(k, 1)) for k in (1e3, 1e-3)),
    ),
    otherwise="wrong_limit",
)


# --- matmul_tflops ----------------------------------------------------------------------------


def _tflops(M: int, N: int, K: int, ms: float) -> float:
    return 2 * M * N * K / (ms * 1e-3) / 1e12


def _tflops_cases(rng) -> list[CallCase]:
    n, M, N, K = (16 * k for k in _integers(rng, 20, 500, 4))
    ms = _floats(rng.uniform(0.01, 9, size=4), 4)
    return [
        _case("square", _tflops, (n, n, n, ms[0]), (2 * n, 2 * n, 2 * n, ms[1]), (n, n, n, 250)),
        _case("three different sizes", _tflops, (M, N + 8000, K + 16000, ms[2]), (8, N, K + 16000, ms[3])),
    ]  # fmt: skip


matmul_tflops = CallTask(
    _tflops_cases,
    (
        ("flop_miscounted", _times(_tflops, 0.5)),
        ("flop_miscounted", _times(_tflops, 2)),
        ("flop_miscounted", lambda M, N, K, ms: _tflops(M, N, K, ms) * (1 - 0.5 / K)),
        ("flop_miscounted", lambda M, N, K, ms: _tflops(M, M, M, ms)),
        ("flop_miscounted", lambda M, N, K, ms: _tflops(N, N, N, ms)),
        ("flop_miscounted", lambda M, N, K, ms: _tflops(M, N, 1, ms)),
        ("flop_miscounted", lambda M, N, K, ms: _tflops(M, M, K, ms)),
        ("flop_miscounted", lambda M, N, K, ms: _tflops(M, N, N, ms)),
        _inverse(_tflops),
        *_units(_tflops),
        ("unit_wrong", lambda M, N, K, ms: 2 * M * N * K * ms),
        ("unit_wrong", lambda M, N, K, ms: 2 * M * N * K * ms / 1e12),
        ("unit_wrong", lambda M, N, K, ms: 2 * M * N * K * ms / 1e15),
    ),
    otherwise="flop_miscounted",
)


# --- vector_add_gb_s --------------------------------------------------------------------------


def _add_rate(n: int, itemsize: int, ms: float) -> float:
    return 3 * n * itemsize / (ms * 1e-3) / 1e9


def _add_rate_cases(rng) -> list[CallCase]:
    lengths = _integers(rng, 1000, 10**8, 4)
    ms = _floats(rng.uniform(0.01, 5, size=4), 4)
    return [
        _case("fp32", _add_rate, (lengths[0], 4, ms[0]), (lengths[1], 4, ms[1]), (16, 4, 0.00512)),
        _case("other types", _add_rate, (lengths[2], 2, ms[2]), (lengths[3], 8, ms[3])),
    ]


vector_add_gb_s = CallTask(
    _add_rate_cases,
    (
        ("traffic_miscounted", _times(_add_rate, 2 / 3)),
        ("traffic_miscounted", _times(_add_rate, 1 / 3)),
        ("traffic_miscounted", _times(_add_rate, 4 / 3)),
        ("traffic_miscounted", lambda n, size, ms: _add_rate(n, 1, ms)),
        ("traffic_miscounted", lambda n, size, ms: _add_rate(n, 4, ms)),
        ("traffic_miscounted", lambda n, size, ms: _add_rate(n, 1, ms) / size),
        _inverse(_add_rate),
        *_units(_add_rate),
        ("unit_wrong", lambda n, size, ms: 3 * n * size * ms),
        ("unit_wrong", lambda n, size, ms: 3 * n * size * ms / 1e9),
        ("unit_wrong", lambda n, size, ms: 3 * n * size * ms / 1e12),
    ),
    otherwise="traffic_miscounted",
)
