"""A small course with a class in it, taken through nbgrader's own commands."""

import os
import shutil
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import nbformat
from hand_ins import CASES, HandIn
from nbgrader import apps
from nbgrader.api import Gradebook

from autograder import authoring, course

STEPS = {  # what is left of the three exercises, so that a class is graded in seconds
    "01_memory_hierarchy": ("matmul_intensity",),
    "04_first_kernels": ("vector_add",),
    "05_softmax": ("row_max",),
}
NAMES = ["anna", "=ben", "-1", "+cem", "@dora", "李明"] + [f"student{i:02d}" for i in range(6, 16)]
ABSENT = "zoe"  # is in the gradebook and hands in nothing
LOST = ("nina", "04_first_kernels")  # hands in a folder without a notebook


@dataclass(frozen=True)
class Class:
    """The course folder of a graded class, and who handed in what: student, assignment → case."""

    root: Path
    cases: dict[tuple[str, str], HandIn]
    log: str

    def notebook(self, step: str, student: str, assignment: str, suffix: str = "ipynb") -> Path:
        name = assignment.partition("_")[2]
        return self.root / step / student / assignment / f"{name}.{suffix}"


def nbgrader(app: str, *arguments: str) -> None:
    """One of nbgrader's commands, as its command line runs it, in the current folder."""
    command = getattr(apps, f"{app}App")()
    command.initialize(list(arguments))
    command.start()


def make_course(root: Path) -> None:
    """The project's configuration, and its exercises cut down to the steps of STEPS."""
    shutil.copy(course.ROOT / "nbgrader_config.py", root)
    for assignment, steps in STEPS.items():
        name = assignment.partition("_")[2]
        source = course.ROOT / "exercises" / assignment / f"{name}.ipynb"
        notebook = nbformat.read(source, as_version=4)
        wanted = {*steps, *(f"{step}-check" for step in steps)}
        notebook.cells = [
            c
            for c in notebook.cells
            if "nbgrader" not in c.metadata or c.metadata.nbgrader.grade_id in wanted
        ]
        folder = root / "exercises" / assignment
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{name}.ipynb")


def released(root: Path, assignment: str):
    """The name of an assignment's notebook, its release, and the release with right answers."""
    name = assignment.partition("_")[2]
    release = nbformat.read(root / "release" / assignment / f"{name}.ipynb", as_version=4)
    return name, release, authoring.filled(release, course.ROOT / "solutions" / f"{assignment}.py")


def hand_in(root: Path, student: str, assignment: str, files: dict[str, bytes]) -> None:
    folder = root / "submitted" / student / assignment
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def hold_class(root: Path) -> Class:
    """Three assignments, sixteen students with a case each, graded and with feedback."""
    make_course(root)
    with (root / "nbgrader_config.py").open("a") as config:
        config.write('c.GradeSteps.timeout = 2.0\nc.NbGrader.logfile = "log.txt"\n')
    cases = {}
    path = os.environ["PATH"]
    with chdir(root):
        for assignment, hand_ins in CASES.items():
            nbgrader("GenerateAssignment", assignment)
            given = released(root, assignment)
            for student, case in zip(NAMES, hand_ins, strict=True):
                cases[student, assignment] = case
                hand_in(root, student, assignment, case.make(*given))
        hand_in(root, *LOST, {"first_kernels.ipynb.txt": b"{}"})
        with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
            gradebook.add_student(ABSENT, last_name="@SUM(1+1)", first_name="=1+1, Zoë")
            gradebook.add_student(LOST[0])
        for assignment in CASES:
            nbgrader("Autograde", assignment)
            nbgrader("GenerateFeedback", assignment)
    os.environ["PATH"] = path
    return Class(root, cases, (root / "log.txt").read_text())
