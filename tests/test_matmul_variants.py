"""The products that share their work out: which grids show a wrong map, and what the bounds allow.

Arithmetic is simulated in NumPy, so that bounds and sizes are tested apart from any kernel.
"""

import itertools

import numpy as np
import pytest

from autograder.account import Launch
from autograder.formats import rounded
from autograder.steps import schedules
from autograder.steps.matmul_variants import (
    grouped_matmul,
    ieee_matmul,
    persistent_matmul,
    split_k_matmul,
)

SEEDS = range(10)
TASKS = {
    "ieee": ieee_matmul,
    "grouped": grouped_matmul,
    "persistent": persistent_matmul,
    "split_k": split_k_matmul,
}
SIDES = (16, 32, 64, 128)


def battery(task, seed=0):
    return task.cases(np.random.default_rng(seed))


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_cases_for_each_config_are_in_the_battery(task):
    assert task.each_config <= {case.name for case in battery(task)}


def case_named(task, name, seed=0):
    return next(c for c in battery(task, seed) if c.name == name)


def operands(case):
    return [o.values for o in case.operands]


def accumulate(a, b, accumulator, step):
    """A·B as a kernel does it: products in fp32, added to an accumulator step by step along K."""
    total = np.zeros((a.shape[0], b.shape[1]), accumulator)
    for k in range(0, a.shape[1], step):
        product = a[:, k : k + step].astype(np.float32) @ b[k : k + step].astype(np.float32)
        total = total + product.astype(accumulator)
    return total


def outside(case, result) -> int:
    error = np.abs(rounded(result, case.dtype).astype(np.float64) - case.expected)
    return int((error > case.bound).sum())


def launch(case, bm, bn, programs=None, **constexprs):
    m, n = case.shape
    grid = (programs or -(-m // bm) * -(-n // bn),)
    sizes = {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": 32, **constexprs}
    return Launch("kernel", grid, sizes, ("a_ptr", "b_ptr"), ("c_ptr",))


# --- bounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("step", [16, 128])
def test_fp32_accumulation_is_inside(task, step):
    for seed in SEEDS:
        for case in battery(task, seed):
            result = accumulate(*operands(case), np.float32, step)
            assert outside(case, result) == 0, (seed, case.name)


@pytest.mark.parametrize("slices", [2, 4, 32])
def test_fp32_slices_are_inside_and_fp16_slices_are_not(slices):
    for seed in SEEDS:
        for case in battery(split_k_matmul, seed):
            a, b = operands(case)
            length = -(-a.shape[1] // slices)
            parts = [
                accumulate(a[:, k : k + length], b[k : k + length], np.float32, 32)
                for k in range(0, a.shape[1], length)
            ]
            assert outside(case, np.sum(parts, axis=0)) == 0, (seed, case.name)
            if case.name == "one tile, long K":
                halves = np.sum([part.astype(np.float16) for part in parts], 0, dtype=np.float32)
                assert outside(case, halves) > 0, seed


@pytest.mark.parametrize("name", ["grouped", "persistent", "split_k"])
def test_an_fp16_accumulator_is_outside_on_long_sums(name):
    for seed in SEEDS:
        case = next(c for c in battery(TASKS[name], seed) if "long K" in c.name)
        assert outside(case, accumulate(*operands(case), np.float16, 32)) > 0, seed


def _tf32(x):
    """fp32 cut to TF32's ten bits of fraction, toward zero: the coarser of the two roundings."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def test_ieee_refuses_one_tf32_product_and_accepts_three():
    for seed in SEEDS:
        for case in battery(ieee_matmul, seed):
            a, b = (x.astype(np.float32) for x in operands(case))
            if not case.expected.size:
                continue
            high_a, high_b = _tf32(a), _tf32(b)
            low_a, low_b = _tf32(a - high_a), _tf32(b - high_b)
            wide_a, wide_b = high_a.astype(float), high_b.astype(float)
            one = wide_a @ wide_b
            three = one + wide_a @ low_b + low_a @ wide_b
            assert outside(case, one) > 0, (seed, case.name)
            assert outside(case, three) == 0, (seed, case.name)


def test_ieee_refuses_inputs_cut_to_fp16():
    for seed in SEEDS:
        for case in battery(ieee_matmul, seed):
            a, b = (x.astype(np.float16) for x in operands(case))
            if case.expected.size:
                assert outside(case, accumulate(a, b, np.float32, 32)) > 0, (seed, case.name)


# --- the order of tiles -----------------------------------------------------------------------


def test_group_major_order_reaches_every_tile_once():
    for tall, broad, group in itertools.product(range(1, 12), range(1, 6), range(1, 9)):
        rows, columns = schedules.group_major(np.arange(tall * broad), tall, broad, group)
        assert len(set(zip(rows.tolist(), columns.tolist()))) == tall * broad
        assert schedules.reached(rows, columns, tall, broad).all()


def test_group_major_order_of_a_small_grid():
    rows, columns = schedules.group_major(np.arange(9), 3, 3, 2)
    numbers = np.empty((3, 3), int)
    numbers[rows, columns] = np.arange(9)
    assert numbers.tolist() == [[0, 2, 4], [1, 3, 5], [6, 7, 8]]


def _shown(cases, bm, bn, group) -> list[tuple[str, bool]]:
    """Each wrong map's cause, and whether some case leaves a tile without a program."""
    shown = {}
    for case in cases:
        tall, broad = -(-case.shape[0] // bm), -(-case.shape[1] // bn)
        pid = np.arange(tall * broad)
        for i, (cause, *tile) in enumerate(schedules.wrong_maps(pid, tall, broad, group)):
            missing = not schedules.reached(*tile, tall, broad).all()
            shown[i, cause] = shown.get((i, cause), False) or missing
    return [(cause, seen) for (_, cause), seen in shown.items()]


@pytest.mark.parametrize("group", [2, 4, 8])
def test_every_wrong_map_shows_for_the_usual_tiles_and_groups(group):
    for seed in range(3):
        cases = battery(grouped_matmul, seed)
        for bm, bn in itertools.product(SIDES, SIDES):
            for cause, seen in _shown(cases, bm, bn, group):
                assert seen, (seed, cause, bm, bn)


@pytest.mark.parametrize("group", [3, 5, 6, 7])
def test_an_unclamped_group_shows_for_other_groups_and_wide_tiles_too(group):
    for seed in range(3):
        cases = battery(grouped_matmul, seed)
        for bm, bn in itertools.product(SIDES, (*SIDES, 256)):
            shown = _shown(cases, bm, bn, group)
            assert all(seen for cause, seen in shown if cause == "group_not_clamped"), (bm, bn)


def test_some_case_has_more_tiles_than_four_programs_can_take_in_whole_turns():
    for bm, bn in itertools.product(SIDES, SIDES):
        tiles = [
            -(-case.shape[0] // bm) * -(-case.shape[1] // bn) for case in battery(persistent_matmul)
        ]
        assert any(n > 4 and n % 4 for n in tiles), (bm, bn)
        assert any(0 < n < 4 for n in tiles), (bm, bn)


# --- wrong answers that depend on the launch --------------------------------------------------


def answers(task, case, launch):
    return [(cause, answer) for cause, answer in task.by_launch(case, launch)]


def test_an_unclamped_group_leaves_tiles_unwritten():
    case = case_named(grouped_matmul, "one short group")
    m, n = case.shape
    tall, broad = -(-m // 32), -(-n // 64)
    written = np.zeros((m, n), bool)
    for pid in range(tall * broad):
        row, column = pid % 8, pid // 8  # one group of 8 rows, of which `tall` exist
        written[row * 32 : row * 32 + 32, column * 64 : column * 64 + 64] = True
    wrong = np.where(written, case.expected, np.nan)
    causes = [
        cause
        for cause, answer in answers(grouped_matmul, case, launch(case, 32, 64, GROUP_M=8))
        if np.array_equal(answer, wrong, equal_nan=True)
    ]
    assert causes[0] == "group_not_clamped"  # of equal votes the first wins


def test_rows_counted_with_the_width_of_a_tile_leave_the_last_tiles_out():
    case = case_named(grouped_matmul, "last group full")
    tall = -(-case.shape[0] // 32)  # one column of tiles, 64 wide
    exchanged = -(-case.shape[0] // 64)
    written = np.arange(tall) < exchanged  # numbers run down the only column
    wrong = np.where(np.repeat(written, 32)[: case.shape[0], None], case.expected, np.nan)
    few = launch(case, 32, 64, programs=exchanged, GROUP_M=4)
    causes = {
        cause
        for cause, answer in answers(grouped_matmul, case, few)
        if np.array_equal(answer, wrong, equal_nan=True)
    }
    assert causes == {"grid_swapped"}


def test_a_sum_that_is_never_reset_grows_from_tile_to_tile():
    case = case_named(persistent_matmul, "several tiles")
    left = case.expected[:64, :64], case.expected[64:, :64]
    found = [
        answer
        for cause, answer in answers(
            persistent_matmul, case, launch(case, 64, 64, programs=2, GROUP_M=1)
        )
        if cause == "accumulator_not_zeroed"
    ]
    # Two programs, tiles row by row: the first program has columns 0 and 2 of both rows.
    third = left[0] + case.expected[:64, 128:192]
    assert any(np.allclose(answer[:64, 128:192], third) for answer in found)
    below = third + left[1]
    assert any(np.allclose(answer[64:, :64], below) for answer in found)


def test_slices_that_overlap_count_elements_twice():
    case = case_named(split_k_matmul, "ragged K")
    a, b = (x.astype(np.float64) for x in operands(case))
    length = -(-a.shape[1] // 4)
    wrong = sum(a[:, s * length :] @ b[s * length :] for s in range(4))
    split = Launch("kernel", (1, 1, 4), {"BLOCK_K": 32}, (), ("c_ptr",))
    causes = {
        cause
        for cause, answer in answers(split_k_matmul, case, split)
        if np.allclose(answer, wrong, rtol=1e-9)
    }
    assert causes == {"slices_wrong"}
