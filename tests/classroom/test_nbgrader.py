"""nbgrader's commands on a course of one exercise: the round trip, and what an instructor adds."""

import copy
import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from hand_ins import cell_of
from nbgrader.api import Gradebook
from school import hand_in, make_course, nbgrader, released

from autograder import course
from autograder.classroom import converting

ASSIGNMENT = "01_memory_hierarchy"
NOTEBOOK = f"{ASSIGNMENT}/memory_hierarchy.ipynb"
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A course with its exercise released, by a command as somebody types it: no activated
    environment, no variable. nbgrader takes seconds to make a gradebook, so the tests copy it.
    """
    root = tmp_path_factory.mktemp("prepared")
    make_course(root)
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(root), "LANG": "C.UTF-8"}
    clean["PYTHONPATH"] = str(course.ROOT)
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", ASSIGNMENT]
    done = subprocess.run(
        command, check=False, cwd=root, env=clean, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture
def classroom(prepared, one_worker, tmp_path, monkeypatch):
    """A released course in a folder of its own, which is also the current one."""
    monkeypatch.setenv("PATH", os.environ["PATH"])
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def grades(root, student: str) -> dict[str, tuple]:
    """grade_id → score by the grader, and whether a human must look."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        submission = book.find_submission(ASSIGNMENT, student)
        return {
            grade.name: (grade.auto_score, grade.needs_manual_grade)
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def test_the_release_is_the_exercise_with_locked_checks(classroom):
    exercise = nbformat.read(classroom / "exercises" / NOTEBOOK, as_version=4)
    release = nbformat.read(classroom / "release" / NOTEBOOK, as_version=4)
    assert [(c.id, c.source) for c in release.cells] == [(c.id, c.source) for c in exercise.cells]
    check = cell_of(release, "matmul_intensity-check").metadata
    assert not check.editable and not check.deletable and check.nbgrader.points == 3


def test_every_exercise_of_the_course_can_be_released(classroom):
    shutil.rmtree(classroom / "exercises")
    shutil.copytree(course.ROOT / "exercises", classroom / "exercises")
    folders = sorted({step.folder for step in course.STEPS})
    for folder in folders:
        nbgrader("GenerateAssignment", folder, "--force")
    with Gradebook(f"sqlite:///{classroom}/gradebook.db") as book:
        points = {assignment.name: assignment.max_score for assignment in book.assignments}
    assert points == {
        folder: sum(step.points for step in course.STEPS if step.folder == folder)
        for folder in folders
    }


def test_out_to_the_class_and_back(classroom, tmp_path_factory, monkeypatch):
    """release → fetch → submit → collect → autograde → feedback → fetch, over nbgrader's exchange."""
    exchange, home = tmp_path_factory.mktemp("exchange"), tmp_path_factory.mktemp("learner")
    exchange.chmod(0o777)
    there = [f"--Exchange.root={exchange}", f"--ExchangeFetchFeedback.cache={home}/cache"]
    there += [f"--ExchangeSubmit.cache={home}/cache", "--course=triton"]
    nbgrader("ReleaseAssignment", ASSIGNMENT, *there)
    filled = released(classroom, ASSIGNMENT)[2]
    monkeypatch.chdir(home)
    nbgrader("FetchAssignment", ASSIGNMENT, *there)
    nbformat.write(filled, home / NOTEBOOK)
    nbgrader("Submit", ASSIGNMENT, *there)
    monkeypatch.chdir(classroom)
    nbgrader("Collect", ASSIGNMENT, *there)
    (student,) = [path.name for path in (classroom / "submitted").iterdir()]
    nbgrader("Autograde", ASSIGNMENT)
    assert grades(classroom, student) == {"matmul_intensity-check": (3.0, False)}
    nbgrader("GenerateFeedback", ASSIGNMENT)
    nbgrader("ReleaseFeedback", ASSIGNMENT, *there)
    monkeypatch.chdir(home)
    nbgrader("FetchFeedback", ASSIGNMENT, *there)
    (page,) = home.glob(f"{ASSIGNMENT}/feedback/*/memory_hierarchy.html")
    assert "3 of 3 points" in page.read_text(encoding="utf-8")


def test_the_points_of_the_release_count(classroom):
    """An instructor changes the points of a check cell before the release."""
    path = classroom / "exercises" / NOTEBOOK
    exercise = nbformat.read(path, as_version=4)
    cell_of(exercise, "matmul_intensity-check").metadata.nbgrader.points = 30
    nbformat.write(exercise, path)
    nbgrader("GenerateAssignment", ASSIGNMENT, "--force")
    name, _, filled = released(classroom, ASSIGNMENT)
    hand_in(classroom, "anna", ASSIGNMENT, {f"{name}.ipynb": nbformat.writes(filled).encode()})
    nbgrader("Autograde", ASSIGNMENT)
    assert grades(classroom, "anna") == {"matmul_intensity-check": (30.0, False)}


OWN = {"schema_version": 3, "task": False}
ESSAY = {"grade": True, "solution": True, "locked": False, "grade_id": "essay", "points": 2, **OWN}
CODE = {"grade": False, "solution": True, "locked": False, "grade_id": "own", **OWN}
TEST = {
    "grade": True,
    "solution": False,
    "locked": True,
    "grade_id": "own-test",
    "points": 5,
    **OWN,
}


def test_an_instructor_s_own_cells_wait_for_a_human_and_lose_their_answers(classroom):
    """Without the engine's verdict nbgrader would give a test cell that never ran all its points."""
    path = classroom / "exercises" / NOTEBOOK
    exercise = nbformat.read(path, as_version=4)
    answer = "def own():\n    ### BEGIN SOLUTION\n    return 42\n    ### END SOLUTION"
    exercise.cells += [
        nbformat.v4.new_markdown_cell("Why?", metadata={"nbgrader": ESSAY}),
        nbformat.v4.new_code_cell(answer, metadata={"nbgrader": CODE}),
        nbformat.v4.new_code_cell("assert own() == 42", metadata={"nbgrader": TEST}),
    ]
    nbformat.write(exercise, path)
    nbgrader("GenerateAssignment", ASSIGNMENT, "--force")
    name, release, filled = released(classroom, ASSIGNMENT)
    assert "42" not in cell_of(release, "own").source
    cell_of(filled, "essay").source = "Because."
    cell_of(filled, "own").source = "def own():\n    return 42"
    hand_in(classroom, "anna", ASSIGNMENT, {f"{name}.ipynb": nbformat.writes(filled).encode()})
    nbgrader("Autograde", ASSIGNMENT)
    assert grades(classroom, "anna") == {
        "matmul_intensity-check": (3.0, False),
        "essay": (None, True),
        "own-test": (None, True),
    }
    graded = nbformat.read(classroom / "autograded/anna" / NOTEBOOK, as_version=4)
    assert cell_of(graded, "essay").source == "Because."


def test_a_failure_of_the_grader_costs_nobody_a_mark(classroom, monkeypatch):
    name, _, filled = released(classroom, ASSIGNMENT)
    for student in ("anna", "ben", "cem"):
        notebook = copy.deepcopy(filled)
        cell_of(notebook, "matmul_intensity").source += f"\n# {student}"
        hand_in(classroom, student, ASSIGNMENT, {f"{name}.ipynb": json.dumps(notebook).encode()})
    grade_step = converting.grading.grade_step

    def failing(submission, *arguments):
        if "ben" in str(submission.path):
            raise RuntimeError("out of luck")
        return grade_step(submission, *arguments)

    monkeypatch.setattr(converting.grading, "grade_step", failing)
    nbgrader("Autograde", ASSIGNMENT)
    assert grades(classroom, "anna") == grades(classroom, "cem")
    assert grades(classroom, "anna") == {"matmul_intensity-check": (3.0, False)}
    assert grades(classroom, "ben") == {"matmul_intensity-check": (None, True)}
    nbgrader("GenerateFeedback", ASSIGNMENT)
    page = (classroom / f"feedback/ben/{ASSIGNMENT}/{name}.html").read_text(encoding="utf-8")
    assert "The grader failed (RuntimeError: out of luck). It has no score yet" in page


def test_without_a_release_the_instructor_is_told(classroom, capfd):
    name, _, filled = released(classroom, ASSIGNMENT)
    hand_in(classroom, "anna", ASSIGNMENT, {f"{name}.ipynb": nbformat.writes(filled).encode()})
    (classroom / "release" / NOTEBOOK).unlink()
    with pytest.raises(SystemExit):
        nbgrader("Autograde", ASSIGNMENT)
    assert "is missing; run nbgrader generate_assignment" in capfd.readouterr().err
    assert not (classroom / "autograded/anna" / NOTEBOOK).exists()
