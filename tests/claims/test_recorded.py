"""Claims that a recorded run on a GPU settles; see the files in book/measurements for where and when."""

import itertools

import pytest


@pytest.fixture
def launches(measured):
    return {row["launch"]: row for row in measured("08_programs_on_sms")["rows"]}


@pytest.fixture
def grouping(measured):
    return measured("08_grouping")


def test_several_programs_share_a_multiprocessor(launches, measured):
    """256 programs on 132 multiprocessors; and of 600 that fill one each, most must wait."""
    count = measured("08_programs_on_sms")["multiprocessors"]
    two_axes = launches["2-D, 16 by 16"]["sm"]
    assert len(two_axes) == 256 and len(set(two_axes)) == count
    many = launches["1-D, more than fit at once"]
    assert sum(begin > 50 for begin in many["begin_us"]) >= len(many["sm"]) - 2 * count


def test_neighbours_start_on_different_multiprocessors(launches):
    """No program shares a multiprocessor with the next one, nor is the order that of the numbers."""
    sm = launches["1-D, one program an SM and one more for half of them"]["sm"]
    assert all(a != b for a, b in itertools.pairwise(sm))
    assert len(set(sm[:132])) == 132  # first one each,
    assert set(sm[132:]) <= set(sm[:132])  # then the second round
    assert sm[:132] != sorted(sm[:132])


def test_programs_start_about_in_order(launches):
    begin = launches["1-D, more than fit at once"]["begin_us"]
    first, last = begin[:132], begin[-132:]
    assert max(first) < min(last)


def test_axis_zero_runs_fastest(measured, launches):
    """Numbered with axis 0 fastest, the programs of a grid of two axes meet the multiprocessors in the
    same sequence as those of a grid of one axis."""
    assert measured("08_programs_on_sms")["numbered"] == "axis 0 fastest"
    one_axis = launches["1-D, one program an SM and one more for half of them"]["sm"][:132]
    two_axes = launches["2-D, 16 by 16"]["sm"]
    transposed = [two_axes[j * 16 + i] for i in range(16) for j in range(16)]

    def agreeing(numbering):
        return sum(a == b for a, b in zip(one_axis, numbering))

    assert agreeing(two_axes) > 120
    assert agreeing(transposed) < 20


def test_either_tile_can_win(grouping):
    """The smaller tile is faster for a small matrix, the larger one for a large matrix."""
    tflops = {(r["n"], r["tile"], r["group"]): r["tflops"] for r in grouping["rows"] if "tile" in r}
    assert tflops[1024, 64, 1] > tflops[1024, 128, 1]
    assert tflops[4096, 64, 1] < tflops[4096, 128, 1]


def test_l2_already_shares_most(grouping):
    """Without groups most reads hit L2 up to 4096; at 8192 groups more than double the share."""
    hits = {(c["n"], c["tile"], c["group"]): c["l2_hit_percent"] for c in grouping["counters"]}
    assert hits[2048, 64, 1] > 85 and hits[4096, 64, 1] > 80
    assert hits[8192, 64, 16] > 2 * hits[8192, 64, 1]
    assert hits[8192, 64, 32] < hits[8192, 64, 16]  # and too large a group loses again


def test_grouping_helps_large_matrices_only(grouping):
    tflops = {(r["n"], r["tile"], r["group"]): r["tflops"] for r in grouping["rows"] if "tile" in r}
    gain = {n: tflops[n, 64, 8] / tflops[n, 64, 1] for n in (1024, 2048, 4096, 8192, 16384)}
    assert gain[1024] < 1
    assert 0.97 < gain[2048] < 1.03
    assert gain[8192] > 1.2


def test_attention_against_which_pytorch(measured):
    """At N = 8192 and D = 64, forward: against PyTorch's eager operators the gain is far more than
    3.5, against its own flash attention less; and the memory is no third of the table's."""
    rows = [
        row for row in measured("12_attention")["rows"]
        if (row["passes"], row["D"], row["N"], row["causal"]) == ("forward", 64, 8192, False)
    ]  # fmt: skip
    ms = {row["kernel"]: row["ms"] for row in rows}
    extra = {row["kernel"]: row["extra_mib"] for row in rows}
    assert ms["eager"] / ms["flash_attention"] > 7
    assert 1 < ms["SDPA flash"] / ms["flash_attention"] < 2
    assert extra["eager"] > 100 * extra["flash_attention"]
