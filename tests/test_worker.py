"""What the worker sees and says: addresses, undefined lanes, prints, errors, and whose work it is."""

import pytest

HEAD = "import torch, triton\nimport triton.language as tl\n"
KERNEL = """\
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.load(y_ptr + i, mask=i < n, other=0.0)
    {body}

def vector_add(x, y):
    out = torch.empty_like(x)
    {before}
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return {result}
"""
STORE = "tl.store(out_ptr + i, x + y, mask=i < n)"


def source(body=STORE, before="pass", result="out", extra=""):
    return HEAD + extra + KERNEL.format(body=body, before=before, result=result)


def failing(result):
    return [c for c in result.checks if c.status not in ("passed", "not_measured")]


def test_the_plain_kernel_passes(grade_source):
    assert grade_source(source(), "vector_add").passed


def test_an_out_of_bounds_read_without_effect_on_the_result_is_found(grade_source):
    body = STORE + "\n    tl.load(x_ptr + n + i)"
    result = grade_source(source(body), "vector_add")
    first = failing(result)[0]
    assert (first.status, first.kind) == ("failed", "memory")
    assert "Out-of-bounds read of `x_ptr`" in first.message
    assert "line 9: `tl.load(x_ptr + n + i)`" in first.message


def test_a_stray_store_is_named_with_program_and_lanes(grade_source):
    result = grade_source(source("tl.store(out_ptr + i, x + y)"), "vector_add")
    ragged = next(c for c in failing(result) if c.name == "one element")
    assert (
        "write of `out_ptr` (shape (1,)) by program (0, 0, 0): 255 of 256 lanes" in ragged.message
    )


def test_a_wild_store_does_not_crash_the_run(grade_source):
    body = STORE + "\n    tl.store(out_ptr + i + 2**40, x, mask=i < n)"
    first = failing(grade_source(source(body), "vector_add"))[0]
    assert first.status == "failed" and "Out-of-bounds write" in first.message


def test_masked_lanes_without_other_are_undefined(grade_source):
    body = "z = tl.load(x_ptr + i, mask=i < n - 1)\n    tl.store(out_ptr + i, z + y, mask=i < n)"
    result = grade_source(source(body), "vector_add")
    assert result.hint.cause == "masked_other_wrong"


def test_what_a_kernel_prints_is_kept(grade_source):
    body = STORE + '\n    tl.device_print("value", n)'
    result = grade_source(source(body, before="print('from the wrapper')"), "vector_add")
    assert result.passed
    printed = result.checks[0].printed
    assert "value" in printed and "from the wrapper" in printed


def test_warnings_and_stderr_do_not_cost_anything(grade_source):
    extra = "import sys, warnings\n"
    before = "warnings.warn('careful'); print('noise', file=sys.stderr)"
    assert grade_source(source(before=before, extra=extra), "vector_add").passed


def test_printing_a_tensor_is_not_a_detour(grade_source):
    assert grade_source(source(before="print(x, x[:3], out)"), "vector_add").passed


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"result": "x + y"}, "The result was made by the operator torch.add"),
        ({"result": "out * 1.0"}, "The result was made by the operator torch.mul"),
        ({"before": "x = x + y; y = torch.zeros_like(x)"}, "argument `x_ptr` was made by the operator torch.add"),
        ({"before": "x = torch.from_numpy(x.numpy() + y.numpy()); y = torch.zeros_like(x)"}, "memory filled outside of PyTorch's operators"),
        ({"before": "x.numpy()[:] = 0", "result": "out"}, "memory filled outside of PyTorch's operators"),
        ({"body": STORE + "\n    np.add(1, 1)", "extra": "import numpy as np\n"}, "numpy inside the kernel"),
        ({"body": STORE + "\n    x.handle.data", "extra": ""}, "NumPy arrays (.handle) inside the kernel"),
    ],
)  # fmt: skip
def test_work_of_others_is_named(grade_source, parts, words):
    result = grade_source(source(**parts), "vector_add")
    first = failing(result)[0]
    assert (first.status, first.kind) == ("refused", "integrity")
    assert words in first.message
    assert result.points == 0 and result.hint.cause == "library_call"


@pytest.mark.parametrize(
    ("before", "grid"),
    [
        ("pass", "lambda meta: (out.copy_(x + y), (triton.cdiv(x.numel(), 256),))[1]"),
        ("kernel.add_pre_run_hook(lambda *_, **__: out.copy_(x + y))", "(triton.cdiv(x.numel(), 256),)"),
    ],
)  # fmt: skip
def test_work_in_functions_that_a_launch_calls_is_seen(grade_source, before, grid):
    body = "tl.store(out_ptr + i, tl.load(out_ptr + i, mask=i < n, other=0.0), mask=i < n)"
    code = source(body, before).replace("(triton.cdiv(x.numel(), 256),)", grid)
    result = grade_source(code, "vector_add")
    assert result.status == "refused" and result.points == 0
    assert "operator torch.add" in failing(result)[0].message


def test_a_right_result_without_a_kernel_is_refused(grade_source):
    code = HEAD + "def transpose(x):\n    return x.t().contiguous()\n"
    result = grade_source(code, "transpose")
    assert result.status == "refused"
    assert "no kernel of yours wrote it" in failing(result)[0].message


def test_an_exception_is_told_with_its_line(grade_source):
    result = grade_source(source(before="int('seven')"), "vector_add")
    first = failing(result)[0]
    assert first.status == "error"
    assert "raised ValueError: invalid literal for int()" in first.message
    assert "at line 12: `int('seven')`" in first.message


def test_an_error_inside_a_kernel_is_told_with_the_kernels_line(grade_source):
    result = grade_source(source("tl.store(out_ptr + i, x + missing, mask=i < n)"), "vector_add")
    first = failing(result)[0]
    assert "NameError" in first.message and "line 8" in first.message


@pytest.mark.parametrize(
    ("parts", "cause"),
    [
        ({"before": "raise NotImplementedError"}, "not_implemented"),
        ({"body": "raise NotImplementedError('mine')"}, "not_implemented"),
        ({"before": "import codecs; codecs.Codec().encode('')"}, "crashed"),
    ],
)
def test_only_the_submissions_own_words_say_that_it_is_not_written(grade_source, parts, cause):
    """Triton and torch raise the same for what they lack, such as block pointers from 3.9 on."""
    assert grade_source(source(**parts), "vector_add").hint.cause == cause


def test_an_endless_loop_is_told_where_it_was(grade_source):
    code = source(before="while True:\n        pass")
    result = grade_source(code, "vector_add", timeout=1.0)
    assert [c.status for c in failing(result)] == ["timed_out"]
    assert "still running after 1 s and was stopped. It was at line 1" in failing(result)[0].message
    assert result.hint.cause == "timed_out"


def test_a_crash_is_told_where_it_was(grade_source):
    extra = "import ctypes\n"
    result = grade_source(source(before="ctypes.string_at(1)", extra=extra), "vector_add")
    first = failing(result)[0]
    assert first.status == "crashed"
    assert "Segmentation fault" in first.message and "It was at line 13" in first.message


def test_the_worker_does_not_hold_the_answers(grade_source):
    """A submission that looks through every object of its process finds no expected value."""
    extra = "import gc, sys\n"
    before = (
        "print([m for m in sys.modules if m.startswith('autograder')], "
        "sum(type(o).__name__ in ('Case', 'Judge') for o in gc.get_objects()))"
    )
    printed = grade_source(source(before=before, extra=extra), "vector_add").checks[0].printed
    assert printed.strip().endswith("0")
    for module in ("verdict", "grading", "steps", "course", "arena"):
        assert f"'autograder.{module}" not in printed


def test_a_case_cannot_reach_the_next(grade_source):
    """Every case runs in a process of its own: what one leaves behind is gone."""
    extra = "import os\nSEEN = []\n"
    before = (
        "SEEN.append(1); assert len(SEEN) == 1 and not os.path.exists('left'); open('left', 'w')"
    )
    assert grade_source(source(before=before, extra=extra), "vector_add").passed
