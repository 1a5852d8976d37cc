"""`check` where learners use it: in a notebook, before and after torch, with what a kernel prints."""

import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from autograder import authoring, course

SET_UP = "from autograder import check\nimport torch, triton\nimport triton.language as tl"
VECTOR_ADD = """\
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.device_print("program", tl.program_id(0))
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y{mask})

def vector_add(x, y):
    out = torch.empty_like(x)
    vector_add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out
"""
RIGHT, WRONG = VECTOR_ADD.format(mask=", mask=mask"), VECTOR_ADD.format(mask="")


def execute(*sources: str) -> list[nbformat.NotebookNode]:
    """Runs cells in a kernel of this Python; returns their outputs, cell by cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    client = NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def shown(outputs, kind: str = "text/html") -> str:
    return "".join(o["data"].get(kind, "") for o in outputs if "data" in o)


def test_a_wrong_kernel_is_shown_with_hint_cell_line_and_print():
    *_, outputs = execute(SET_UP, WRONG, "check(vector_add)")
    page = shown(outputs)
    assert "store_mask_missing" in page
    assert "cell [2], line 8" in page
    assert "Your code printed" in page and "program" in page
    assert "<script" not in page
    assert "store_mask_missing" in shown(outputs, "text/plain")
    assert not any(o.output_type == "error" for o in outputs)


def test_an_error_map_is_drawn():
    source = RIGHT.replace("offsets < n", "offsets < n - 1")
    page = shown(execute(SET_UP, source, "check(vector_add)")[-1])
    assert "<svg" in page and "aria-label" in page


def test_a_mended_cell_replaces_the_wrong_one():
    *_, first, _, second = execute(SET_UP, WRONG, "check(vector_add)", RIGHT, "check(vector_add)")
    assert "store_mask_missing" in shown(first)
    assert "4 of 4 points" in shown(second)
    assert "defined 2 times" not in shown(second)


@pytest.mark.parametrize(
    "order",
    [
        "from autograder import check\nimport torch, triton\nimport triton.language as tl",
        "import torch\nfrom autograder import check\nimport triton\nimport triton.language as tl",
        "import torch, triton\nimport triton.language as tl\nfrom autograder import check",
    ],
    ids=["before torch", "after torch", "after triton"],
)
def test_the_order_of_imports_does_not_matter_to_check(order):
    set_up, _, outputs = execute(order, RIGHT, "check(vector_add)")
    said = "".join(o.get("text", "") for o in set_up)
    assert "no GPU found" in said
    assert ("Restart it" in said) == order.startswith("import torch, triton")
    assert "4 of 4 points" in shown(outputs)


ENDLESS = """\
@triton.jit
def vector_add_kernel(x_ptr):
    while True:
        pass

def vector_add(x, y):
    vector_add_kernel[(1,)](x)
    return x
"""
HOUR_LONG = """\
from functools import partial
from autograder import notebook
notebook._worker().wait_until_ready()
notebook.grading.Settings = partial(notebook.grading.Settings, timeout=3600.0)
"""
INTERRUPTED = """\
import os, signal, threading
threading.Timer(1, os.kill, [os.getpid(), signal.SIGINT]).start()
try:
    check(vector_add)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupted_check_ends_and_the_next_one_works():
    """Long before the endless case would end, which has an hour, and a cell's time here as well."""
    cells = (SET_UP, HOUR_LONG, ENDLESS, INTERRUPTED, RIGHT, "check(vector_add)")
    *_, first, _, second = execute(*cells)
    assert "interrupted" in "".join(o.get("text", "") for o in first)
    assert "4 of 4 points" in shown(second)


def test_kernels_run_by_hand_after_the_set_up_cell():
    outputs = execute(SET_UP, RIGHT, "print(vector_add(torch.ones(3), torch.ones(3)))")[-1]
    assert "tensor([2., 2., 2.])" in "".join(o.get("text", "") for o in outputs)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "check('no_such')",
            f"'no_such' is not a step of the course. The steps are: {course.STEPS[0].name}",
        ),
        ("check(3)", "3 is not a step of the course"),
        ("check(len)", "'len' is not a step of the course"),
    ],
)
def test_a_wrong_argument_is_one_line(call, words):
    outputs = execute(SET_UP, call)[-1]
    assert words in "".join(o.get("text", "") for o in outputs)


def test_check_in_a_plain_script(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(f"{SET_UP}\n{WRONG}\ncheck(vector_add)\n")
    done = subprocess.run(
        [sys.executable, script], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "store_mask_missing" in done.stdout and "line 11" in done.stdout


@pytest.mark.parametrize("folder", sorted({step.folder for step in course.STEPS}))
def test_an_exercise_filled_with_the_reference_passes_when_executed(folder):
    solution = course.ROOT / "solutions" / f"{folder}.py"
    notebook = authoring.filled(authoring.exercise(solution), solution)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    text = "".join(shown(c.outputs, "text/plain") for c in notebook.cells if c.cell_type == "code")
    for step in (s for s in course.STEPS if s.folder == folder):
        assert f"{step.name} {step.points:g}/{step.points:g} points" in text
