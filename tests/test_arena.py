"""Guarded memory: layouts, margins, and what the grader sees of them afterwards."""

import os

import numpy as np
import pytest

from autograder.arena import Arena, lay_out
from autograder.shared import MARGIN, UNWRITTEN
from autograder.steps.case import Case, Operand

VALUES = np.arange(15, dtype=np.float32).reshape(3, 5)


def case(operand: Operand) -> Case:
    expected = np.zeros((2, 3))
    return Case("test", {}, (operand,), expected, expected, "float16")


def poke(arena: Arena, element: int, value: float) -> None:
    """Writes one element of the first operand's storage, as a stray store would."""
    place = arena.placements[0]
    dtype = np.dtype(place.dtype)
    os.pwrite(arena.fd, np.array(value, dtype).tobytes(), place.start + element * dtype.itemsize)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "padded", "sliced", "expanded"])
def test_a_layout_shows_the_values_and_nothing_else(layout):
    values = np.repeat(VALUES[:1], 3, axis=0) if layout == "expanded" else VALUES
    storage, strides = lay_out(Operand("x", values, layout))
    view = np.lib.stride_tricks.as_strided(
        storage[MARGIN:], values.shape, tuple(s * 4 for s in strides)
    )
    assert np.array_equal(view, values)
    assert np.isnan(storage[:MARGIN]).all() and np.isnan(storage[-MARGIN:]).all()
    finite = np.isfinite(storage).sum()
    assert finite == (5 if layout == "expanded" else 15)


@pytest.mark.parametrize(
    ("layout", "strides"),
    [
        ("contiguous", (60, 20, 5, 1)),
        ("transposed", (60, 20, 1, 4)),
        ("bnhd", (60, 5, 15, 1)),
        ("expanded", (0, 20, 5, 1)),
    ],
)
def test_layouts_of_four_dimensions(layout, strides):
    values = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    if layout == "expanded":
        values[1] = values[0]
    storage, found = lay_out(Operand("x", values, layout))
    assert found == strides
    view = np.lib.stride_tricks.as_strided(
        storage[MARGIN:], values.shape, tuple(s * 4 for s in strides)
    )
    assert np.array_equal(view, values)


def test_far_heads_pass_two_to_the_31():
    values = np.ones((1, 5, 16, 16), np.float16)
    with Arena(case(Operand("x", values, "far"))) as arena:
        place = arena.placements[0]
        assert place.strides[1] < 2**31 <= 4 * place.strides[1]
        assert place.strides[2:] == (16, 1)
        poke(arena, MARGIN + 4 * place.strides[1] + 17, 2.0)
        assert arena.changed() == {"x": "values"}


def test_layouts_differ_where_they_should():
    strides = {n: lay_out(Operand("x", VALUES, n))[1] for n in ("transposed", "padded", "sliced")}
    assert strides["transposed"] == (1, 3)
    assert strides["padded"][0] > 5 and strides["padded"][1] == 1
    assert strides["sliced"][1] == 2


def test_an_untouched_arena_has_not_changed():
    with Arena(case(Operand("x", VALUES, "padded"))) as arena:
        assert arena.changed() == {}


def test_a_changed_value_and_a_touched_margin_are_told_apart():
    with Arena(case(Operand("x", VALUES))) as arena:
        poke(arena, MARGIN + 4, 99.0)
        assert arena.changed() == {"x": "values"}
    with Arena(case(Operand("x", VALUES))) as arena:
        poke(arena, MARGIN + 15, 99.0)
        assert arena.changed() == {"x": "margin"}
    with Arena(case(Operand("x", VALUES, "padded"))) as arena:
        poke(arena, MARGIN + 5, 99.0)  # the first element of the first row's padding
        assert arena.changed() == {"x": "margin"}


def test_far_rows_pass_two_to_the_31_and_take_no_memory():
    values = np.ones((33, 40), np.float16)
    with Arena(case(Operand("x", values, "far"))) as arena:
        stride = arena.placements[0].strides[0]
        assert stride < 2**31 <= 32 * stride
        assert os.fstat(arena.fd).st_blocks * 512 < 4 * 2**20
        assert arena.changed() == {}
        poke(arena, MARGIN + 32 * stride, 2.0)
        assert arena.changed() == {"x": "values"}


def test_the_region_cannot_be_shrunk():
    with Arena(case(Operand("x", VALUES))) as arena, pytest.raises(PermissionError):
        os.ftruncate(arena.fd, 16)


def test_the_result_is_read_in_the_graders_layout():
    with Arena(case(Operand("x", VALUES))) as arena:
        left = np.arange(6, dtype=np.float16)
        left.view(np.uint16)[4] = UNWRITTEN["float16"]
        os.pwrite(arena.fd, left.tobytes(), arena.result_start)
        assert arena.result().shape == (2, 3)
        assert arena.result()[0, 2] == 2
        assert arena.unwritten().tolist() == [[False] * 3, [False, True, False]]


def test_the_worker_is_told_no_expected_value():
    expected = np.full((2, 3), 0.123456789)
    told = Case("secret", {}, (Operand("x", VALUES),), expected, expected, "float16")
    with Arena(told) as arena:
        assert "0.123" not in str(arena.describe()) and "secret" not in str(arena.describe())


def test_bfloat16_lies_in_memory_as_pytorch_has_it():
    torch = pytest.importorskip("torch")
    values = np.float32([[1.5, -2.0, 3.0e30]])
    with Arena(case(Operand("x", values, "padded", "bfloat16"))) as arena:
        place = arena.placements[0]
        data = bytearray(os.pread(arena.fd, 2 * place.elements, place.start))
        stored = torch.frombuffer(data, dtype=torch.bfloat16)
        view = stored.as_strided(place.shape, place.strides, place.offset)
        assert torch.equal(view, torch.from_numpy(values).to(torch.bfloat16))
        assert stored.isnan().sum() == place.elements - 3
        assert arena.changed() == {}


def test_a_call_that_comes_first_has_operands_of_its_own():
    earlier = case(Operand("x", VALUES[:2]))
    with Arena(case(Operand("x", VALUES)), before=(earlier,)) as arena:
        told = arena.describe()
        assert [o["shape"] for o in told["operands"]] == [(3, 5)]
        assert [[o["shape"] for o in call] for call in told["before"]] == [[(2, 5)]]
        starts = [told["operands"][0]["start"], told["before"][0][0]["start"]]
        assert starts[1] >= starts[0] + 4 * told["operands"][0]["elements"]
        os.pwrite(arena.fd, b"\0\0\0\0", starts[1] + 4 * (MARGIN + 1))
        assert arena.changed() == {"x": "values"}


def test_another_fill_may_lie_beside_the_operands():
    with Arena(case(Operand("x", VALUES)), fill=1e4) as arena:
        place = arena.placements[0]
        stored = np.frombuffer(os.pread(arena.fd, 4 * place.elements, place.start), np.float32)
        assert (stored[:MARGIN] == 1e4).all() and (stored[-MARGIN:] == 1e4).all()
        assert arena.changed() == {}
