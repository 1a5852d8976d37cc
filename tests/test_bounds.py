"""The bounds by theory: right arithmetic stays inside over many seeds, lost bits do not.

Arithmetic is simulated in NumPy, so that the bound is tested apart from any kernel.
"""

import numpy as np
import pytest

from autograder.formats import rounded
from autograder.steps.matmul import gelu, linear_gelu, tile_matmul, triton_matmul

SEEDS = range(20)
TILE = 32


def battery(task, seed):
    return task.cases(np.random.default_rng(seed))


def operands(case):
    a, b = (o.values for o in case.operands[:2])
    return (a, b) if task_is_product(case) else (a, b.T)


def task_is_product(case):
    return case.operands[1].name == "b"


def accumulate(a, b, accumulator, tile=TILE):
    """A·B as a kernel does it: products in fp32, added to an accumulator tile by tile."""
    total = np.zeros((a.shape[0], b.shape[1]), accumulator)
    for k in range(0, a.shape[1], tile):
        step = a[:, k : k + tile].astype(np.float32) @ b[k : k + tile].astype(np.float32)
        total = total + step.astype(accumulator)
    return total


def outside(case, result) -> int:
    error = np.abs(rounded(result, case.dtype).astype(np.float64) - case.expected)
    return int((error > case.bound).sum())


@pytest.mark.parametrize("task", [tile_matmul, triton_matmul], ids=["tile", "triton"])
@pytest.mark.parametrize("tile", [1, 16, 64])
def test_fp32_accumulation_is_inside(task, tile):
    for seed in SEEDS:
        for case in battery(task, seed):
            result = accumulate(*operands(case), np.float32, tile)
            assert outside(case, result) == 0, (seed, case.name)


def test_linear_gelu_in_fp32_is_inside():
    for seed in SEEDS:
        for case in battery(linear_gelu, seed):
            x, w = operands(case)
            bias = case.operands[2].values.astype(np.float32)
            z = accumulate(x, w, np.float32) + bias
            assert outside(case, gelu(z).astype(np.float32)) == 0, (seed, case.name)


@pytest.mark.parametrize("task", [tile_matmul, triton_matmul], ids=["tile", "triton"])
def test_an_fp16_accumulator_is_outside_on_long_sums(task):
    for seed in SEEDS:
        case = next(c for c in battery(task, seed) if c.name == "long K")
        assert outside(case, accumulate(*operands(case), np.float16)) > 0, seed


@pytest.mark.parametrize("cut", [np.float16, "tf32"])
@pytest.mark.parametrize("task", [tile_matmul, triton_matmul], ids=["tile", "triton"])
def test_cut_fp32_inputs_are_outside(task, cut):
    for seed in SEEDS:
        case = next(c for c in battery(task, seed) if c.name == "float32")
        a, b = (_cut(x, cut) for x in operands(case))
        assert outside(case, accumulate(a, b, np.float32)) > 0, seed


def _cut(x, kind):
    """fp32 rounded to fp16, or to TF32's ten bits of fraction."""
    if kind == "tf32":
        bits = x.view(np.uint32)
        return ((bits + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)
    return x.astype(kind).astype(np.float32)


@pytest.mark.parametrize("task", [tile_matmul, triton_matmul], ids=["tile", "triton"])
def test_one_missing_element_of_k_is_outside(task):
    for seed in SEEDS:
        for case in battery(task, seed):
            a, b = operands(case)
            if a.shape[1] == 1 or not case.expected.size or "expanded" in case.size.values():
                continue
            result = accumulate(a[:, :-1], b[:-1], np.float32)
            assert outside(case, result) > 0, (seed, case.name)


def test_the_tanh_form_of_gelu_is_outside():
    for seed in SEEDS:
        case = next(c for c in battery(linear_gelu, seed) if c.name == "float32")
        x, w = operands(case)
        z = x.astype(np.float64) @ w + case.operands[2].values
        tanh = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
        assert outside(case, tanh) > 0, seed
