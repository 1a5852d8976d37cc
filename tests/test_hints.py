"""Hints for what beginners do around a kernel: by one edit of a right file each."""

import pytest
from corpus_files import CORPUS

PLAIN = (CORPUS / "vector_add" / "honest" / "plain.py").read_text(encoding="utf-8")
LAUNCH = "add_kernel[grid](x, y, out, n, x.stride(0), y.stride(0), BLOCK=64)"


@pytest.fixture
def hint_after(grade_source):
    """The result of `vector_add` after an edit: what is replaced, and by what."""

    def grade(old: str, new: str):
        assert PLAIN.count(old) == 1
        return grade_source(PLAIN.replace(old, new), "vector_add")

    return grade


@pytest.mark.parametrize(
    ("old", "new", "cause", "words"),
    [
        ("    return out", "", "nothing_returned", "end with `return out`"),
        ("    return out", "    return [out]", "nothing_returned", "no list"),
        (LAUNCH, LAUNCH.replace("[grid]", ""), "grid_missing", "`kernel[(programs,)]"),
        (LAUNCH, LAUNCH.replace("grid", "grid[0]"), "grid_missing", "The grid is a tuple"),
        ("@triton.jit\n", "", "jit_missing", "`@triton.jit`"),
        ("x + y, mask", "(x + y - x).exp(), mask", "not_in_interpreter", "`tl.exp(x)`"),
        ("device=x.device, ", "", "device_forgotten", "Without `device`"),
        ("x + y, mask=mask", "x + y", "store_mask_missing", "`offsets < n`"),
    ],
)
def test_the_hint_names_what_was_done(hint_after, old, new, cause, words):
    result = hint_after(old, new)
    assert result.status in ("failed", "error")
    assert result.hint.cause == cause
    assert words in result.hint.text


def test_a_function_that_returns_nothing_is_told_once(hint_after):
    result = hint_after("    return out", "")
    assert {check.message for check in result.checks if check.kind == "correctness"} == {
        "returned nothing, expected a torch.Tensor."
    }


def test_a_result_on_the_cpu_is_right_in_the_interpreter_and_refused_for_a_gpu(hint_after):
    result = hint_after("device=x.device, ", "")
    assert {check.kind for check in result.failed} == {"compile"}
    assert "the result lies on the device `cpu`" in result.failed[0].message


def test_a_line_that_loads_is_not_said_to_write(grade_file):
    """The first access out of bounds is a load, and the hint is about the mask of the store."""
    result = grade_file(CORPUS / "scale_rows" / "wrong" / "mask_by_or.py", "scale_rows")
    assert result.hint.cause == "store_mask_missing"
    assert "Out-of-bounds read" in result.failed[0].message
    assert "past its end" not in result.hint.text


def test_a_renamed_function_is_told_with_the_name_that_is_there(hint_after):
    result = hint_after("def vector_add(x, y)", "def vector_addd(x, y)")
    assert result.checks[0].message == (
        "`vector_add` is not defined in this submission. It defines `vector_addd`."
    )
    assert result.hint.cause == "not_defined"
    assert "of exactly this name" in result.hint.text


def test_what_is_no_python_is_told_as_such(hint_after):
    result = hint_after("def vector_add(x, y):", "def vector_add(x, y)")
    assert "this is not valid Python" in result.checks[0].message
    assert result.hint.cause == "not_python"
    assert "nothing of it ran" in result.hint.text
