"""The interpreter made honest: bfloat16, autotuning, imports, order of programs, hints, bytes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from autograder import course, formats, grading
from autograder.steps.case import Case, Operand, Task
from autograder.submission import Cell, Submission
from autograder.worker import hints

HEAD = "import torch, triton\nimport triton.language as tl\n"
KERNEL = """\
{decorator}
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.load(y_ptr + i, mask=i < n, other=0.0)
    {body}

def vector_add(x, y):
    out = torch.empty_like(x)
    kernel[{grid}](x, y, out, x.numel(){block})
    return {result}
"""
STORE = "tl.store(out_ptr + i, x + y, mask=i < n)"
GRID = "(triton.cdiv(x.numel(), 256),)"


def source(body=STORE, decorator="", grid=GRID, block=", BLOCK=256", result="out", head=HEAD):
    code = KERNEL.format(body=body, decorator=decorator, grid=grid, block=block, result=result)
    return head + code.lstrip("\n")


def failing(result):
    return [c for c in result.checks if c.status not in ("passed", "not_measured")]


def named(result, name):
    return next(c for c in result.checks if c.name == name)


# --- bfloat16 ---------------------------------------------------------------------------------


def test_the_self_test_tells_a_repaired_interpreter_from_a_plain_one():
    code = "from autograder.worker import bfloat16 as b\nprint(b.works()); b.install(); print(b.works())"
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(course.ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["False", "True"]


def test_numbers_are_rounded_as_pytorch_rounds_them():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, dtype=np.uint32)
    bits[:2000] = bits[:2000] & 0xFFFF0000 | 0x8000  # exactly between two neighbours
    values = np.concatenate([bits.view(np.float32), np.float32([0, -0.0, np.inf, -np.inf, 1e-40])])
    ours = formats.rounded(values, "bfloat16")
    theirs = torch.from_numpy(values).to(torch.bfloat16)
    np.testing.assert_array_equal(ours, theirs.float().numpy())
    finite = ours[np.isfinite(ours)]
    stored = formats.encode(finite, "bfloat16")
    same = torch.from_numpy(finite).to(torch.bfloat16).view(torch.int16).numpy()
    np.testing.assert_array_equal(stored, same.view(np.uint16))
    np.testing.assert_array_equal(formats.decode(stored.tobytes(), "bfloat16"), finite)


def test_bfloat16_is_graded_where_it_can_be(grade_source):
    check = named(grade_source(source(), "vector_add"), "bfloat16")
    assert check.status == "passed" and check.case["dtype"] == "bfloat16"


def test_bfloat16_is_not_measured_where_the_interpreter_is_wrong(
    grade_source, sandbox, monkeypatch
):
    monkeypatch.setattr(sandbox, "knows_bfloat16", False)
    result = grade_source(source("tl.store(out_ptr + i, x + y, mask=i < n)"), "vector_add")
    check = named(result, "bfloat16")
    assert check.status == "not_measured"
    assert check.message.startswith("bfloat16 values need a GPU here")
    assert result.passed and result.points == result.max_points


# --- autotuning -------------------------------------------------------------------------------

TUNED = (
    '@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 128})], key=["n"])'
)


def test_every_config_has_a_check_and_so_has_the_tuning(grade_source):
    grid = "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)"
    result = grade_source(source(decorator=TUNED, grid=grid, block=""), "vector_add")
    assert result.passed
    names = [c.name for c in result.checks]
    assert "config 2 of 2" in names and "tuned" in names and "tuned, after another shape" in names


def test_a_wrong_config_is_named_with_its_values_and_the_case(grade_source):
    result = grade_source(source(decorator=TUNED, block=""), "vector_add")
    check = named(result, "config 2 of 2")
    assert check.status == "failed"
    assert check.message.startswith("Config 2 of 2 (BLOCK=128) is wrong: whole tiles: 2048 of 4096")
    assert named(result, "whole tiles").status == "passed"  # the first config is right
    assert result.hint.cause == "autotune_grid"
    assert "Your kernel is right with its other configs." in result.hint.text


@pytest.mark.parametrize(("key", "told"), [('["n"]', []), ("[]", ["N"])], ids=["knows n", "empty"])
def test_a_key_that_does_not_tell_shapes_apart_is_noted(grade_source, key, told):
    grid = "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)"
    code = source(decorator=TUNED.replace('["n"]', key), grid=grid, block="")
    result = grade_source(code, "vector_add")
    assert result.passed
    assert result.notes == [
        f"After a call with another {name} your tuner did not measure again: its key does not tell "
        "such shapes apart, so they share a config."
        for name in told
    ]


def test_a_second_launch_of_one_call_is_no_sign_of_a_poor_key(grade_source):
    """It finds the key that the first has just measured."""
    grid = "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)"
    code = source(decorator=TUNED, grid=grid, block="")
    [launch] = [line for line in code.splitlines() if "kernel[" in line]
    result = grade_source(code.replace(launch, f"{launch}\n{launch}"), "vector_add")
    assert result.passed and len(result.notes) == 2  # every byte is moved twice
    assert not any("measure again" in note for note in result.notes)


def test_tuning_runs_the_kernel_as_often_as_a_gpu_would(grade_source):
    """Each of two configs twice, and once more for the result: 5 times x + y."""
    body = "tl.atomic_add(out_ptr + i, x + y, mask=i < n)"
    code = source(body, TUNED, "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)", "")
    code = code.replace("torch.empty_like(x)", "torch.zeros_like(x)")
    result = grade_source(code, "vector_add")
    assert [c.name for c in failing(result)] == ["tuned"]
    assert "Wrong when tuned (BLOCK=256): whole tiles: 4096 of 4096" in failing(result)[0].message
    assert result.hint.cause == "autotune_in_place"


def test_the_driver_can_be_asked_for_the_device(grade_source):
    head = HEAD + (
        "DEVICE = triton.runtime.driver.active.get_active_torch_device()\n"
        "SMS = triton.runtime.driver.active.utils.get_device_properties(0)['multiprocessor_count']\n"
    )
    result = "out if x.device.type == DEVICE.type and SMS > 0 else None"
    assert grade_source(source(result=result, head=head), "vector_add").passed


# --- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "name", "line"),
    [
        ({"body": STORE + "\n    np.add(1, 1)"}, "np", 9),
        ({"body": "tl.store(out_ptr + i, x + y * math.pi, mask=i < n)"}, "math", 8),
        ({"result": "out.view(np.prod(x.shape))"}, "np", 13),
        ({"result": "partial(torch.Tensor.view, out)(-1)"}, "partial", 13),
    ],
)
def test_a_missing_import_is_an_error_at_its_line_on_the_first_call(
    grade_source, parts, name, line
):
    result = grade_source(source(**parts), "vector_add")
    first = failing(result)[0]
    assert first.status == "error"
    assert f"raised NameError: name '{name}' is not defined at line {line}" in first.message


def test_the_language_may_be_used_under_its_full_name(grade_source):
    code = source().replace("import triton.language as tl\n", "").replace("tl.", "triton.language.")
    assert grade_source(code, "vector_add").passed


def test_own_imports_stay(grade_source):
    assert grade_source(
        source(result="out.view(np.prod(x.shape))", head=HEAD + "import numpy as np\n"),
        "vector_add",
    ).passed


# --- order and races --------------------------------------------------------------------------


def test_programs_run_in_shuffled_order_in_some_cases_and_the_same_order_again(grade_source):
    body = STORE + '\n    tl.device_print("", 0)'
    runs = [grade_source(source(body), "vector_add") for _ in range(2)]

    def order(result, name):
        lines = named(result, name).printed.splitlines()
        return [int(line[1:].split(",")[0]) for line in lines]

    assert order(runs[0], "whole tiles") == list(range(16))
    shuffled = order(runs[0], "ragged N")
    assert shuffled != sorted(shuffled) and sorted(shuffled) == list(range(len(shuffled)))
    assert order(runs[1], "ragged N") == shuffled


def test_a_race_is_named_with_both_programs_and_the_line(grade_source):
    body = "old = tl.load(out_ptr + i % 256, mask=i < n)\n    tl.store(out_ptr + i % 256, old + x, mask=i < n)"
    code = source(body).replace("torch.empty_like", "torch.zeros_like")
    message = named(grade_source(code, "vector_add"), "whole tiles").message
    assert "Programs (0, 0, 0) and (1, 0, 0) both write an element of `out_ptr`" in message
    assert "line 9: `tl.store(out_ptr + i % 256, old + x, mask=i < n)`" in message


def test_a_race_that_gives_the_right_values_is_found_all_the_same(grade_source):
    body = STORE + "\n    tl.load(out_ptr + tl.minimum(i + 1, n - 1), mask=i < n)"
    check = named(grade_source(source(body), "vector_add"), "whole tiles")
    assert (check.status, check.kind) == ("failed", "memory")
    assert "one writes and the other reads the same element of `out_ptr`" in check.message


# --- hints ------------------------------------------------------------------------------------

COUNT = np.arange(32)


@pytest.mark.parametrize(
    ("key", "promised", "values", "step", "untrue"),
    [
        ("tt.divisibility", [32], COUNT + 64, 1, None),  # a run that starts at a multiple
        ("tt.divisibility", [32], COUNT + 16, 1, 16),
        ("tt.divisibility", [16], np.array([48]), 1, None),
        ("tt.divisibility", [16], np.array([47]), 1, 47),
        ("tt.divisibility", [16], 64 + 4 * COUNT, 4, None),  # pointers to four bytes each
        ("tt.divisibility", [16, 16], COUNT[:2, None] * 64 + COUNT[None, :], 1, None),
        ("tt.contiguity", [32], COUNT, 1, None),
        ("tt.contiguity", [32], (COUNT + 32) % 37, 1, 0),
        ("tt.contiguity", [8], np.concatenate([COUNT[:8], COUNT[:8]]), 1, None),
        ("tt.contiguity", [32], 2 * COUNT, 1, 2),
        ("tt.constancy", [4], COUNT // 4, 1, None),
        ("tt.constancy", [8], COUNT // 4, 1, 1),
    ],
)
def test_hints_are_compared_with_the_values(key, promised, values, step, untrue):
    assert hints.first_untrue(key, promised, values, step) == untrue


def test_an_untrue_hint_is_named_with_its_line(grade_source):
    body = "m = tl.multiple_of(n, 16)\n    tl.store(out_ptr + i, x + y, mask=i < m)"
    result = grade_source(source(body), "vector_add")
    message = named(result, "one element").message
    assert "The hint `tl.multiple_of(…, 16)` is not true in program (0, 0, 0)" in message
    assert "the value 1 breaks it at line 8: `m = tl.multiple_of(n, 16)`" in message
    assert named(result, "whole tiles").status == "passed"
    assert result.hint.cause == "hint_untrue"


# --- bytes and fills --------------------------------------------------------------------------


def test_bytes_loaded_twice_are_a_note_and_no_failure(grade_source):
    body = "x = tl.load(x_ptr + i, mask=i < n)\n    " + STORE
    result = grade_source(source(body), "vector_add")
    assert result.passed
    assert result.notes == [
        "Your kernel loads 1.5 times the bytes that are needed (49152 instead of 32768 in “whole tiles”)."
    ]
    assert grade_source(source(), "vector_add").notes == []


LARGEST = """\
@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n{other})
    tl.store(out_ptr, tl.max(x, axis=0))

def largest(x):
    out = torch.empty(1, dtype=x.dtype, device=x.device)
    kernel[(1,)](x, out, x.numel(), BLOCK=64)
    return out
"""


@pytest.mark.parametrize(("other", "passed"), [("", False), (", other=-float('inf')", True)])
def test_a_maximum_that_swallows_nan_is_caught_by_the_second_fill(sandbox, other, passed):
    def cases(rng):
        x = rng.standard_normal(37).astype(np.float32)
        expected = x.astype(np.float64).max(keepdims=True)
        return [Case("ragged N", {}, (Operand("x", x),), expected, np.zeros(1), "float32", "N")]

    task = Task(cases, lambda case, tiles: iter(()), second_fill=1e4)
    step = course.Step("largest", 4, "first_kernels", 1, False, task)
    cell = Cell("", "submission.py", HEAD + LARGEST.format(other=other))
    submission = Submission.from_cells(Path("submission.py"), [cell])
    settings = grading.Settings(1)
    result = grading.grade_step(submission, step, sandbox, settings, lambda *_: None)
    assert result.passed == passed
    assert result.checks[0].status == "passed"  # NaN is swallowed
    assert result.checks[1].name == "ragged N, large numbers beside it"
