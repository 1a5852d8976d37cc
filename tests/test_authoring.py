"""The exercises are made from solutions/, the same bytes every time, and never hold an answer."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import jupytext
import nbformat
import pytest
from nbgrader.nbgraderformat.v3 import MetadataValidatorV3
from nbgrader.preprocessors import CheckCellMetadata, LockCells

from autograder import authoring
from autograder.course import ROOT, STEPS

SOURCES = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))
each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)

# One small, right solution file. The refusals below each spoil one thing in it.
RIGHT = '''\
# %% [markdown]
# # Halves

# %%
import math

# %% [markdown]
# ## Step 1: `half`

# %% nbgrader={"grade_id": "half", "solution": true}
def half(x):
    """Half of x."""
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION

# %% tags=["active-ipynb", "keep"] nbgrader={"grade_id": "half-check", "grade": true}
# check(half)
'''
SOLUTION_LINE = '# %% nbgrader={"grade_id": "half", "solution": true}\n'
SOLUTION_CELL = RIGHT[RIGHT.index(SOLUTION_LINE) : RIGHT.index("# %% tags")]
CHECK_CELL = RIGHT[RIGHT.index("# %% tags") :]


@pytest.fixture
def halves(tmp_path, monkeypatch):
    """A course of one step; the function makes its exercise from a text."""
    step = SimpleNamespace(name="half", points=3, chapter=2, slug="halves")
    monkeypatch.setattr(authoring, "STEPS", (step,))
    (tmp_path / "solutions").mkdir()
    source = tmp_path / "solutions" / "02_halves.py"

    def make(text):
        source.write_text(text, encoding="utf-8")
        return authoring.exercise(source)

    make.source = source
    return make


def test_regenerating_gives_the_committed_bytes(tmp_path):
    made = authoring.build(ROOT / "solutions", tmp_path)
    assert len(made) == len(SOURCES)
    for path, _ in made:
        same = (tmp_path / path).read_bytes() == (ROOT / path).read_bytes()
        assert same, f"{path} differs from its solution file: run `make exercises`"


def test_the_bytes_do_not_depend_on_the_hash_seed_or_the_locale():
    # A process of its own: Python draws its hash seed once, at the start.
    script = "import sys; from autograder import authoring as a; from pathlib import Path\n"
    script += "for p in sys.argv[1:]: sys.stdout.buffer.write(a.dumps(a.exercise(Path(p))))"
    elsewhere = subprocess.run(
        [sys.executable, "-c", script, *map(str, SOURCES)],
        env={"PYTHONHASHSEED": "1", "LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    assert elsewhere == b"".join(authoring.dumps(authoring.exercise(path)) for path in SOURCES)


@each_source
def test_nbgrader_accepts_the_metadata(source):
    text = authoring.dumps(authoring.exercise(source)).decode("utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    MetadataValidatorV3().validate_nb(notebook)
    CheckCellMetadata().preprocess(notebook, {})
    LockCells().preprocess(notebook, {})


@each_source
def test_points_are_those_of_the_course(source):
    notebook = authoring.exercise(source)
    points = {
        cell.metadata.nbgrader.grade_id.removesuffix("-check"): cell.metadata.nbgrader.points
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    here = [step for step in STEPS if f"{step.chapter:02d}_{step.slug}" == source.stem]
    assert points == {step.name: step.points for step in here}
    rows = re.findall(r"(?m)^\| \d+ \| `(\w+)\(.*\| ([\d.]+) \|$", notebook.cells[0].source)
    assert dict(rows) == {step.name: f"{step.points:g}" for step in here}


@each_source
def test_the_first_cell_leads_to_the_page_of_its_chapter(source):
    first = authoring.exercise(source).cells[0].source
    links = re.findall(r"\[chapter (\d+)\]\(\.\./\.\./(book/\S+)\)", first)
    assert links[0] == (str(int(source.stem[:2])), f"book/{source.stem}.md")
    for number, path in links:
        assert (ROOT / path).is_file() and path.startswith(f"book/{int(number):02d}_")


@each_source
def test_no_answer_is_published(source):
    published = authoring.dumps(authoring.exercise(source)).decode("utf-8")
    assert not any(marker in published for marker in authoring.MARKERS)
    filled = authoring.filled(authoring.exercise(source), source)
    for before, after in zip(authoring.exercise(source).cells, filled.cells, strict=True):
        answered = before.metadata.get("nbgrader", {}).get("solution", False)
        assert (before.source != after.source) == answered
        assert "is not written yet" not in after.source


# Imports the skeletons of a file and calls each step with the first case of its battery. Triton
# reads a kernel's text from its file, and reads TRITON_INTERPRET when it is imported: hence a file
# and a process of its own.
CALL_SKELETONS = """
import importlib.util, sys
import numpy, torch
from autograder.course import find_step
spec = importlib.util.spec_from_file_location("skeleton", sys.argv[1])
skeleton = importlib.util.module_from_spec(spec)
stopped = ""
try:
    spec.loader.exec_module(skeleton)
except NotImplementedError as error:  # what is to be written stands above a function: a decorator
    stopped = str(error)
for name in sys.argv[2:]:
    if stopped and not hasattr(skeleton, name):
        assert f"{name} is not written yet" in stopped, stopped
        continue
    case = find_step(name).task.cases(numpy.random.default_rng(0))[0]
    if hasattr(case, "calls"):
        arguments = case.calls[0].arguments
    else:
        arguments = [*(torch.from_numpy(o.values) for o in case.operands), *case.more]
    backward = getattr(case, "backward", None)
    if backward:
        arguments = [x.requires_grad_() if torch.is_tensor(x) else x for x in arguments]
    try:
        result = getattr(skeleton, name)(*arguments)
        if backward:
            result.backward(torch.from_numpy(backward.gradient.values))
    except Exception as error:
        assert f"{name} is not written yet" in str(error), error
        assert isinstance(error, NotImplementedError) or "NotImplementedError" in str(error), error
    else:
        sys.exit(f"{name} returned")
"""


@each_source
def test_every_skeleton_imports_and_says_that_it_is_not_written(source, tmp_path):
    exercise = authoring.exercise(source)
    originals = jupytext.read(source, fmt="py:percent").cells
    imported = [  # what the file itself imports: cells that are code in notebooks only are left out
        cell
        for cell, original in zip(exercise.cells, originals, strict=True)
        if cell.cell_type == "code" and "active-ipynb" not in original.metadata.get("tags", [])
    ]
    solutions = [cell for cell in imported if cell.metadata.get("nbgrader", {}).get("solution")]
    module = tmp_path / "skeleton.py"
    module.write_text("\n\n".join(cell.source for cell in imported))
    names = [cell.metadata.nbgrader.grade_id for cell in solutions]
    done = subprocess.run(
        [sys.executable, "-c", CALL_SKELETONS, str(module), *names],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_small_exercise_whole(halves):
    notebook = halves(RIGHT)
    title, code, heading, solution, check = notebook.cells
    assert [cell.cell_type for cell in notebook.cells] == [
        "markdown",
        "code",
        "markdown",
        "code",
        "code",
    ]
    assert title.source == "# Halves"
    assert code.metadata == {} and heading.metadata == {}
    assert solution.source == (
        "def half(x):\n"
        '    """Half of x."""\n'
        "    # YOUR CODE HERE\n"
        '    raise NotImplementedError("half is not written yet")'
    )
    assert solution.id == "half"
    assert solution.metadata == {
        "nbgrader": {
            "grade": False,
            "grade_id": "half",
            "locked": False,
            "schema_version": 3,
            "solution": True,
            "task": False,
        }
    }
    assert check.source == "check(half)"
    assert check.id == "half-check"
    assert check.metadata == {
        "tags": ["keep"],
        "nbgrader": {
            "grade": True,
            "grade_id": "half-check",
            "locked": True,
            "points": 3,
            "schema_version": 3,
            "solution": False,
            "task": False,
        },
    }
    assert (check.outputs, check.execution_count) == ([], None)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"


def test_a_new_cell_leaves_the_ids_of_the_others_alone(halves):
    before = [cell.id for cell in halves(RIGHT).cells]
    after = [cell.id for cell in halves("# %% [markdown]\n# New.\n\n" + RIGHT).cells]
    assert after[1:] == before


def test_equal_cells_have_different_ids(halves):
    ids = [cell.id for cell in halves("# %%\n1 + 1\n\n# %%\n1 + 1\n\n" + RIGHT).cells]
    assert len(set(ids)) == len(ids)


def test_a_filled_exercise_holds_the_reference(halves):
    notebook = authoring.filled(halves(RIGHT), halves.source)
    assert notebook.cells[3].source == 'def half(x):\n    """Half of x."""\n    return x / 2'
    assert "NotImplementedError" in halves(RIGHT).cells[3].source


def test_what_is_beyond_the_exercise_is_in_the_reference_only(halves):
    more = "### BEGIN REFERENCE\ndef quarter(x):\n    return half(half(x))\n### END REFERENCE\n"
    text = RIGHT.replace("def half(x):", more + "def half(x):")
    assert halves(text).cells[3].source == halves(RIGHT).cells[3].source
    filled = authoring.filled(halves(text), halves.source).cells[3].source
    assert filled.startswith("def quarter(x):\n    return half(half(x))\ndef half(x):")
    assert "REFERENCE" not in filled


REFUSED = {
    "no end": (
        RIGHT.replace("    ### END SOLUTION\n", ""),
        "02_halves.py, cell 4: BEGIN SOLUTION without END SOLUTION",
    ),
    "no begin": (
        RIGHT.replace("    ### BEGIN SOLUTION\n", ""),
        "02_halves.py, cell 4: END SOLUTION without BEGIN SOLUTION",
    ),
    "begin twice": (
        RIGHT.replace("    return x / 2\n", "    ### BEGIN SOLUTION\n    return x / 2\n"),
        "02_halves.py, cell 4: BEGIN SOLUTION inside a solution region",
    ),
    "begin without end, beyond the exercise": (
        RIGHT.replace("    return x / 2\n", "    return x / 2\n    ### END REFERENCE\n"),
        "02_halves.py, cell 4: END REFERENCE without BEGIN REFERENCE",
    ),
    "no end, beyond the exercise": (
        RIGHT.replace("def half", "### BEGIN REFERENCE\ndef half")
        .replace("    ### BEGIN SOLUTION\n", "")
        .replace("    ### END SOLUTION\n", ""),
        "02_halves.py, cell 4: BEGIN REFERENCE without END REFERENCE",
    ),
    "no region": (
        RIGHT.replace("    ### BEGIN SOLUTION\n", "").replace("    ### END SOLUTION\n", ""),
        "02_halves.py, cell 4: step 'half' has no solution region",
    ),
    "marker misspelt": (
        RIGHT.replace("### BEGIN", "## BEGIN"),
        "02_halves.py, cell 4: not a marker: '## BEGIN SOLUTION'",
    ),
    "region elsewhere": (
        RIGHT.replace("import math\n", "### BEGIN SOLUTION\nimport math\n### END SOLUTION\n"),
        "02_halves.py, cell 2: a solution region in a cell that is not a solution",
    ),
    "unknown id": (
        RIGHT + '\n# %% nbgrader={"grade_id": "third", "solution": true}\nx = 1\n',
        "02_halves.py, cell 6: unknown grade_id 'third'; no such step here",
    ),
    "no id": (
        RIGHT + '\n# %% nbgrader={"solution": true}\nx = 1\n',
        "02_halves.py, cell 6: unknown grade_id None; no such step here",
    ),
    "duplicate id": (
        RIGHT + "\n" + SOLUTION_CELL,
        "02_halves.py, cell 6: duplicate grade_id 'half'",
    ),
    "points written twice": (
        RIGHT.replace('"grade": true}', '"grade": true, "points": 3}'),
        """02_halves.py, cell 5: must be nbgrader={"grade_id": "half-check", "grade": true}""",
    ),
    "not code": (
        RIGHT.replace("# %% nbg", "# %% [markdown] nbg"),
        "02_halves.py, cell 4: 'half' must be a code cell",
    ),
    "no check": (
        RIGHT.replace(CHECK_CELL, ""),
        "02_halves.py: step 'half' has no check cell",
    ),
    "check alone": (
        RIGHT.replace(SOLUTION_CELL, ""),
        "02_halves.py: 'half' has a check cell but no solution cell",
    ),
    "no step": (
        "# %%\n1 + 1\n",
        "02_halves.py: step 'half' has no solution cell",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_is_one_line_and_exit_2(halves, monkeypatch, capsys, text, message):
    with pytest.raises(authoring.AuthoringError):
        halves(text)
    root = halves.source.parent.parent
    monkeypatch.setattr(authoring, "ROOT", root)
    assert authoring.main() == 2
    assert capsys.readouterr() == ("", f"authoring: {message}\n")
    assert not (root / "exercises").exists()


def test_a_file_without_steps_is_refused(halves):
    other = halves.source.with_name("03_thirds.py")
    other.write_text(RIGHT)
    with pytest.raises(authoring.AuthoringError, match="03_thirds.py: the course lists no step"):
        authoring.exercise(other)


def test_a_missing_file_is_refused(halves, tmp_path):
    halves.source.with_name("03_thirds.py").write_text(RIGHT)
    with pytest.raises(authoring.AuthoringError, match="solutions/02_halves.py is missing"):
        authoring.build(tmp_path / "solutions", tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(authoring.AuthoringError, match="no file named NN_slug.py"):
        authoring.build(tmp_path, tmp_path)


def test_writing_says_what_changed_and_leaves_other_files_alone(
    halves, tmp_path, monkeypatch, capsys
):
    halves(RIGHT)
    monkeypatch.setattr(authoring, "ROOT", tmp_path)
    folder = tmp_path / "exercises" / "02_halves"
    folder.mkdir(parents=True)
    (folder / "data.csv").write_text("1,2\n")
    assert authoring.main() == 0
    assert authoring.main() == 0
    path = "exercises/02_halves/halves.ipynb"
    assert capsys.readouterr().out == f"{path}: written\n{path}: unchanged\n"
    assert sorted(file.name for file in folder.iterdir()) == ["data.csv", "halves.ipynb"]
    assert (tmp_path / path).read_bytes() == authoring.dumps(authoring.exercise(halves.source))
