"""The commands as a user types them: exit codes, messages, JSON, and bad input."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import nbformat
import psutil
import pytest

from autograder import cli, course, outputs
from autograder.files import write_whole
from autograder.submission import BadInput

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


# --- names of files ---------------------------------------------------------------------------


@pytest.mark.slow
def test_the_name_of_a_right_file_does_not_matter(autograder, tmp_path):
    """Not even one that is no text, or that the PTX of a kernel could not hold."""
    right = CORPUS / "vector_add" / "honest" / "plain.py"
    names = ["作业.py", os.fsdecode(b'a"b\n\xff.py')]
    for name in names:
        shutil.copy(right, tmp_path / name)
    files = [tmp_path / name for name in names]
    page, junit = tmp_path / "page.html", tmp_path / "junit.xml"
    run = autograder("grade", *files, "--html", page, "--junit", junit)
    assert run.code == 0, run.out + run.err
    assert [s["path"] for s in run.json["submissions"]] == [str(path) for path in files]
    assert "作业.py" in run.out and "作业.py" in page.read_text() and "作业.py" in junit.read_text()


@pytest.fixture
def refused(capsys):
    """Runs a command in this process that must end with 2; returns the lines that it says."""

    def run(*arguments) -> str:
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        assert ended.value.code == 2
        return capsys.readouterr().err.rstrip("\n")

    return run


@pytest.mark.parametrize("command", [["grade"], ["xray"], ["leaderboard", "--html", "page.html"]])
def test_a_path_that_cannot_be_read_is_one_line(refused, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.py").symlink_to("loop.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "nothing.py").symlink_to("nowhere")
    long = "x" * 300 + ".py"
    deep = "x/" * 3000 + "x.py"
    for name, reason in {
        "loop.py": "cannot be read (Too many levels of symbolic links)",
        "pipe.py": "not an ordinary file",
        "nothing.py": "no such file",
        long: "File name too long)",
        deep: "File name too long)",
    }.items():
        line = refused(*command, name)
        assert line.startswith(f"autograder: {name}: ") and line.endswith(reason)
        assert "\n" not in line


def test_every_path_is_looked_at_before_the_worker_starts(refused, tmp_path, monkeypatch):
    def started(**_):
        raise AssertionError("the worker was started")

    monkeypatch.setattr("autograder.sandbox.Sandbox", started)
    missing = tmp_path / "missing.py"
    assert refused("grade", REFERENCE, missing) == f"autograder: {missing}: no such file"


def test_a_working_folder_that_is_gone_is_one_line(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os; os.rmdir({str(gone)!r}); from autograder.cli import main; main(['list'])"
    environment = {**os.environ, "PYTHONPATH": str(course.ROOT)}
    done = _ended([sys.executable, "-P", "-c", code], cwd=gone, env=environment)
    assert done.returncode == 2 and done.stderr == (
        "autograder: the working folder does not exist any more; change to another one\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"cells": null}',
        '{"nbformat": "4", "cells": []}',
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": null}',
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [1, 2]}',
    ],
)
def test_json_that_is_no_notebook_is_told_in_plain_words(refused, tmp_path, text):
    path = tmp_path / "odd.ipynb"
    path.write_text(text)
    advice = "open it in JupyterLab and save it again, or export it anew"
    for command in ("grade", "xray"):
        line = refused(command, path)
        assert line == f"autograder: {path}: not a notebook that can be read; {advice}"


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["nan", "inf", "1e400", "1e300", "9999999", "0.01"])
def test_a_timeout_is_a_time_that_can_be_waited_for(refused, given):
    number = "a number of seconds." if given == "nan" else "in the range 0.1<=x<=86400."
    for command in ("grade", "batch"):
        last = refused(command, "nowhere", "--timeout", given).splitlines()[-1]
        assert last == f"Error: Invalid value for '--timeout': {float(given)} is not {number}"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--step", "softmx"], "'softmx' is not a step; did you mean 'softmax'?"),
        (["--step", "nope"], "'nope' is not a step; `autograder list` shows the steps"),
        (["--threshold", "softmax"], "'softmax' is not STEP=SHARE, such as softmax=0.7"),
        (
            ["--threshold", "softmax=7"],
            "softmax = 7.0 is not a share of the library's speed (above 0, up to 1.5)",
        ),
    ],
)
def test_an_option_that_is_no_step_says_what_would_be(refused, option, words):
    said = refused("grade", REFERENCE, *option)
    assert said.endswith(f": {words}") and len(said) < 400


def test_a_file_without_a_step_is_told_the_one_that_it_may_mean(autograder, tmp_path):
    """In one line: a progress bar that shows nothing leaves no empty one."""
    path = tmp_path / "mine.py"
    path.write_text("def vector_ad(x, y):\n    return x\n")
    no_step = f"autograder: {path}: defines no step of the course"
    run = autograder("grade", path)
    assert run.code == 2 and run.err == f"{no_step}; did you mean 'vector_add'?\n"
    # Of all functions the nearest; a module that is imported is none.
    path.write_text(
        "import triton\ndef softmaxx_kernel():\n    pass\ndef vector_ad(x, y):\n    return x\n"
    )
    run = autograder("grade", path)
    assert run.code == 2 and run.err == f"{no_step}; did you mean 'vector_add'?\n"
    path.write_text("n = 1\n")
    run = autograder("grade", path)
    assert run.code == 2 and run.err == f"{no_step}; `autograder list` shows the steps\n"


# --- files that are written -------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--json", "--junit", "--html", "--gradescope"])
@pytest.mark.parametrize("name", ["mine.ipynb", "other.py", "NEW.IPYNB", "link.json"])
def test_a_result_is_never_written_over_code(refused, tmp_path, option, name):
    code, other, written = tmp_path / "mine.ipynb", tmp_path / "other.py", tmp_path / name
    code.write_text("of weeks")
    other.write_text("of weeks")
    (tmp_path / "link.json").symlink_to(code)
    reason = "a notebook or Python file is never written; name another one"
    line = refused("grade", REFERENCE, option, written)
    assert line == f"autograder: {option} {written}: {reason}"
    assert code.read_text() == other.read_text() == "of weeks"


def test_a_link_that_leads_nowhere_is_refused_before_anything_is_graded(refused, tmp_path):
    loop, far = tmp_path / "loop.json", tmp_path / "far.json"
    loop.symlink_to(loop)
    far.symlink_to(tmp_path / "none" / "x.json")
    for link, reason in {
        loop: "cannot be written (Too many levels of symbolic links)",
        far: f"the folder {tmp_path / 'none'} does not exist",
    }.items():
        line = refused("grade", REFERENCE, "--json", link)
        assert line == f"autograder: --json {link}: {reason}"


def test_a_read_only_file_stays(tmp_path, monkeypatch):
    """Root may write it all the same, so the question is answered for root, too."""
    kept = tmp_path / "kept.json"
    kept.write_text("old")
    asked = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != kept and asked(path, mode))
    with pytest.raises(BadInput) as error:
        outputs.check({"json": kept})
    assert str(error.value) == f"--json {kept}: this file is read-only; name another one"


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "marks.json"
    path.write_text("old")
    path.chmod(mode)
    write_whole(path, b"new")
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == mode


# --- output that cannot be shown --------------------------------------------------------------


def _ended(command, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, check=False, stderr=subprocess.PIPE, text=True, timeout=120, **options
    )


@pytest.mark.slow
def test_a_terminal_without_unicode_gets_other_characters(autograder, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    right = CORPUS / "vector_add" / "honest" / "plain.py"
    run = autograder("doctor")
    assert run.code == 0 and run.err == ""
    assert "+ correctness" in run.out and "- speed" in run.out
    assert autograder("xray", right, "--target", "sm_90").code == 0
    run = autograder("grade", CORPUS / "vector_add" / "wrong" / "grid_floor.py")
    assert run.code == 1 and run.err == "" and "cause: grid_floor" in run.out


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["--help"]])
def test_output_that_cannot_be_written_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        done = _ended([sys.executable, "-m", "autograder", *arguments], stdout=full)
    assert done.returncode == 2
    assert done.stderr == "autograder: cannot go on (No space left on device)\n"


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["--help"]])
def test_a_pipe_that_nobody_reads_ends_a_command_silently(arguments):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with open(write_end, "w") as pipe:
        done = _ended([sys.executable, "-m", "autograder", *arguments], stdout=pipe)
    assert done.returncode == 2 and done.stderr == ""


def test_a_mistake_of_the_grader_is_one_line(monkeypatch, capsys):
    def broken():
        raise RecursionError("too deep\nfor words")

    monkeypatch.setattr(cli.choices, "load", broken)
    with pytest.raises(SystemExit) as ended:
        cli.main(["list"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "autograder: failed by a mistake of its own (RecursionError: too deep for words); "
        "please report this\n"
    )


# --- Ctrl-C -----------------------------------------------------------------------------------

ENDLESS = """\
import triton, torch
@triton.jit
def kernel(x):
    while True:
        pass

def vector_add(x, y):
    kernel[(1,)](x)
    return x
"""


@pytest.mark.parametrize(
    ("command", "folders"),
    [("grade", "*/run-*/submission.py"), ("grade", "*"), ("xray", "*"), ("doctor", "*")],
    ids=["grade, in a case", "grade, loading", "xray, loading", "doctor, loading"],
)
def test_an_interrupt_ends_a_command_and_leaves_nothing(tmp_path, monkeypatch, command, folders):
    """Long before the endless case would end, which has an hour."""
    path, temporary = tmp_path / "endless.py", tmp_path / "tmp"
    path.write_text(ENDLESS)
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    arguments = {"grade": [path, "--timeout", "3600"], "xray": [path], "doctor": []}[command]
    process = subprocess.Popen(
        [sys.executable, "-m", "autograder", command, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not any(temporary.glob(folders)):  # what the worker, or the case, makes when it begins
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130 and said == "autograder: interrupted\n"
    assert list(temporary.iterdir()) == []
    assert [p.pid for p in psutil.process_iter() if _belongs(p, temporary)] == []


def _belongs(process: psutil.Process, temporary) -> bool:
    try:
        return process.environ().get("TMPDIR", "").startswith(str(temporary))
    except psutil.Error:
        return False  # ended meanwhile
