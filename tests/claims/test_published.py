"""Conclusions from figures that others published, drawn again from the figures themselves."""

import math
from statistics import mean

import pytest

PEAK = 15.7  # TFLOPS of a V100 in float32, as its data sheet says
BANDWIDTH = 900  # GB/s


@pytest.fixture
def rows(published):
    return published["matmul"]["rows"]


def _ratios(rows, over, under):
    return [row[over] / row[under] for row in rows]


def test_the_peaks(rows):
    peaks = {
        name: max(r[name] for r in rows) for name in ("cublas", "autotuned", "grouped", "blockwise")
    }
    assert list(peaks.values()) == pytest.approx([13.61, 12.27, 10.74, 10.64], abs=0.006)
    sizes = {max(rows, key=lambda r, n=name: r[n])["n"] for name in peaks}
    assert len(sizes) > 1  # they are peaks of different sizes


def test_the_first_kernel_peaks_above_ten(rows):
    assert max(row["blockwise"] for row in rows) > 10


def test_the_results_are_bound_by_arithmetic(rows):
    """At 4096 the intensity lies far right of the ridge, and the figures near the peak."""
    n = 4096
    intensity = 2 * n**3 / (4 * 3 * n**2)
    ridge = PEAK * 1e12 / (BANDWIDTH * 1e9)
    assert intensity > 30 * ridge
    assert max(r["cublas"] for r in rows) > 0.85 * PEAK
    assert max(r["autotuned"] for r in rows) > 0.75 * PEAK


def test_tuned_against_the_library(rows):
    peak = max(r["autotuned"] for r in rows) / max(r["cublas"] for r in rows)
    assert math.isclose(peak, 0.901, abs_tol=0.001)
    assert math.isclose(mean(_ratios(rows, "autotuned", "cublas")), 0.912, abs_tol=0.001)


def test_the_first_kernel_against_the_library(rows):
    large = [r for r in rows if r["n"] >= 2048]
    assert math.isclose(mean(_ratios(large, "blockwise", "cublas")), 0.79, abs_tol=0.01)
    assert _ratios(rows[:1], "blockwise", "cublas")[0] < 0.5  # at 256


def test_grouping_brought_one_percent(rows):
    gains = _ratios(rows, "grouped", "blockwise")
    assert math.isclose(mean(gains), 1.010, abs_tol=0.001)
    assert math.isclose(gains[-1], 1.009, abs_tol=0.001)  # at 4096
    assert sorted(gains)[-2] < 1.03 < max(gains) < 1.08  # one outlier


def test_tuning_brought_less_where_it_counts(rows):
    all_sizes = mean(_ratios(rows, "autotuned", "grouped"))
    large = mean(_ratios([r for r in rows if r["n"] >= 2048], "autotuned", "grouped"))
    small = mean(_ratios([r for r in rows if r["n"] <= 1024], "autotuned", "grouped"))
    assert large < 1.13 < all_sizes < 1.21
    assert small > 1.4


def test_a_plateau_is_the_floor_of_a_launch(published):
    """Three float32 values for each element: every size up to 32,768 took the same 5.12 µs."""
    microseconds = {r["n"]: 12 * r["n"] / r["gb_s"] / 1e3 for r in published["vector_add"]["rows"]}
    small = [t for n, t in microseconds.items() if n <= 32_768]
    assert all(math.isclose(t, 5.12, rel_tol=1e-3) for t in small)
    ticks = [t / 1.024 for t in microseconds.values()]
    assert all(math.isclose(t, round(t), rel_tol=1e-3) for t in ticks)


def test_the_largest_vector_sum(published):
    assert math.isclose(
        published["vector_add"]["rows"][-1]["gb_s"] / BANDWIDTH, 0.944, abs_tol=1e-3
    )


def test_no_kernel_is_faster_than_the_memory(published):
    assert published["layer_norm_backward"]["peak_gb_s"] > BANDWIDTH


def test_the_softmax_is_near_the_bandwidth(published):
    assert math.isclose(published["softmax"]["peak_gb_s"] / BANDWIDTH, 0.90, abs_tol=0.01)
