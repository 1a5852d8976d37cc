"""The commands as a user types them: exit codes, messages, JSON, and bad input."""

import json
import os
import shutil

import nbformat
import pytest

from autograder import course

REFERENCE = course.ROOT / "solutions" / "06_triton_matmul.py"
EXERCISE = course.ROOT / "exercises" / "06_triton_matmul" / "triton_matmul.ipynb"
CORPUS = course.ROOT / "tests" / "corpus"


def test_list(autograder):
    run = autograder("list", "--json")
    assert run.code == 0
    rows = {row["step"]: row for row in json.loads(run.out)}
    assert rows["triton_matmul"]["points"] == 10
    assert rows["triton_matmul"]["chapter"] == 6
    assert rows["triton_matmul"]["speed"] is True
    assert "triton_matmul" in autograder("list").out


def test_doctor_says_what_works_and_what_does_not(autograder):
    run = autograder("doctor")
    assert run.code == 0
    assert "graded on the CPU, in Triton's interpreter" in run.out
    assert "not measured here" in run.out


def test_the_reference_passes_and_speed_is_not_measured(autograder):
    run = autograder("grade", REFERENCE)
    assert run.code == 0, run.out
    assert run.json["passed"] is True and run.json["points"] == run.json["max_points"] == 24
    assert run.json["schema"] == 1
    assert run.json["environment"]["device"] == "cpu (interpreter)"
    steps = {s["step"]: s for s in run.json["submissions"][0]["steps"]}
    assert set(steps) == {"tile_matmul", "triton_matmul", "linear_gelu"}
    speed = steps["triton_matmul"]["checks"][-1]
    assert (speed["kind"], speed["status"]) == ("speed", "not_measured")
    assert steps["triton_matmul"]["hint"] is None
    assert steps["triton_matmul"]["performance"] is None


def test_no_speed_leaves_the_speed_check_out(autograder):
    run = autograder("grade", REFERENCE, "--step", "triton_matmul", "--no-speed")
    kinds = {c["kind"] for c in run.json["submissions"][0]["steps"][0]["checks"]}
    assert run.code == 0 and "speed" not in kinds


def test_an_untouched_exercise_is_told_kindly(autograder):
    run = autograder("grade", EXERCISE)
    assert run.code == 1
    assert "Traceback" not in run.out + run.err
    for step in run.json["submissions"][0]["steps"]:
        assert step["points"] == 0
        assert step["hint"]["cause"] == "not_implemented"
        assert f"`{step['step']}` is not written yet" in step["checks"][0]["message"]
        assert "cell " in step["checks"][0]["message"]


def test_a_seed_repeats_a_grading(autograder):
    wrong = CORPUS / "triton_matmul" / "wrong" / "k_tail_unmasked_b.py"
    first = autograder("grade", wrong, "--seed", "5")
    again = autograder("grade", wrong, "--seed", "5")
    other = autograder("grade", wrong, "--seed", "6")
    assert first.code == again.code == other.code == 1

    def cases(run):
        return [c["case"] for c in run.json["submissions"][0]["steps"][0]["checks"]]

    assert cases(first) == cases(again) != cases(other)
    assert first.json["seed"] == 5 and "--seed 5" in first.out


def test_a_fresh_seed_is_drawn_each_time(autograder):
    step = ("--step", "vector_add")
    path = course.ROOT / "solutions" / "04_first_kernels.py"
    assert autograder("grade", path, *step).json["seed"] != autograder("grade", path, *step).json["seed"]  # fmt: skip


def test_a_wrong_kernel_in_a_notebook_is_told_cell_and_line(autograder, tmp_path):
    source = (CORPUS / "triton_matmul" / "wrong" / "k_tail_unmasked_b.py").read_text()
    head, kernel = source.split("@triton.jit", 1)
    cells = [head.split('"""')[2], "@triton.jit" + kernel, "print('not run')\n1 / 0"]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.strip()) for c in cells])
    path = tmp_path / "mine.ipynb"
    nbformat.write(nb, path)
    before = path.read_bytes()
    run = autograder("grade", path)
    assert run.code == 1
    line = next(i for i, text in enumerate(cells[1].splitlines(), 1) if "tl.load(B" in text)
    hint = run.json["submissions"][0]["steps"][0]["hint"]
    assert hint["cause"] == "k_tail_unmasked"
    assert "Your kernel is right except when K is not a multiple of 16." in hint["text"]
    assert f"The last tile of `B` is read past its end, cell 2, line {line}." in hint["text"]
    assert hint["read"] == "book/06_triton_matmul.md#ch6-masks"
    assert path.read_bytes() == before


def test_a_folder_is_graded_whole(autograder, tmp_path):
    shutil.copy(REFERENCE, tmp_path / "b.py")
    shutil.copy(EXERCISE, tmp_path / "a.ipynb")
    (tmp_path / "notes.txt").write_text("not a submission")
    run = autograder("grade", tmp_path, "--step", "tile_matmul")
    assert run.code == 1
    assert [s["passed"] for s in run.json["submissions"]] == [False, True]


def test_two_definitions_are_said(autograder, tmp_path):
    right = (CORPUS / "vector_add" / "wrong" / "grid_floor.py").read_text()
    path = tmp_path / "twice.py"
    path.write_text("def vector_add(x, y):\n    return x\n\n" + right)
    run = autograder("grade", path)
    notes = run.json["submissions"][0]["steps"][0]["notes"]
    assert len(notes) == 1 and "vector_add is defined 2 times" in notes[0]
    assert run.json["submissions"][0]["steps"][0]["hint"]["cause"] == "grid_floor"


def test_a_cell_that_is_not_python_fails_its_step_with_the_line(autograder, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import torch\n\ndef vector_add(x, y):\n    return (x\n")
    run = autograder("grade", path)
    assert run.code == 1
    check = run.json["submissions"][0]["steps"][0]["checks"][0]
    assert check["status"] == "error"
    assert "line 4: this is not valid Python" in check["message"]


def test_a_named_step_that_is_missing_fails(autograder, tmp_path):
    path = tmp_path / "other.py"
    path.write_text("def helper():\n    return 1\n")
    run = autograder("grade", path, "--step", "vector_add")
    assert run.code == 1
    message = run.json["submissions"][0]["steps"][0]["checks"][0]["message"]
    assert message == "`vector_add` is not defined in this submission."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.ipynb"], "missing.ipynb: no such file"),
        (["empty"], "no notebook and no .py file with a step of the course"),
        (["notes.txt"], "expected a notebook (.ipynb) or a Python file (.py)"),
        (["broken.ipynb"], "not valid JSON"),
        (["nothing.py"], "defines no step of the course"),
        (["fine.py", "--step", "no_such_step"], "'no_such_step' is not a step"),
        (["fine.py", "--device", "tpu"], "'tpu' is not one of"),
        (["fine.py", "--device", "cuda"], "--device cuda: no GPU found"),
        (["fine.py", "--seed", "-1"], "-1 is not in the range"),
        (["fine.py", "--timeout", "0"], "0.0 is not in the range"),
        (["fine.py", "--no-such-option"], "No such option"),
        (["fine.py", "--json", "no/folder/out.json"], "the folder no/folder does not exist"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_one_line_and_code_2(autograder, tmp_path, arguments, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "broken.ipynb").write_text("{")
    (tmp_path / "nothing.py").write_text("x = 1\n")
    (tmp_path / "fine.py").write_text("def vector_add(x, y):\n    return x\n")
    extra = [] if "--json" in arguments else ["--json", tmp_path / "out.json"]
    run = autograder("grade", *arguments, *extra, cwd=_importable(tmp_path))
    assert run.code == 2
    assert words in " ".join(run.err.split())
    assert "Traceback" not in run.out + run.err
    assert not (tmp_path / "out.json").exists()
    assert len(run.err.strip().splitlines()) <= 4  # click adds two lines of usage


def _importable(tmp_path):
    """A working folder with bad files, from which the package can still be found."""
    os.environ["PYTHONPATH"] = str(course.ROOT)
    return tmp_path


def test_a_result_file_that_cannot_be_written_is_one_line(autograder, tmp_path):
    (tmp_path / "target").mkdir()
    run = autograder("grade", REFERENCE, "--step", "tile_matmul", "--json", tmp_path / "target")
    assert run.code == 2 and "Traceback" not in run.err
