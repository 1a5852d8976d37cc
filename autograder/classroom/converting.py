"""nbgrader's autograde and generate_assignment, with this project's engine in the executing step.

Four places where nbgrader lets itself be configured: how a hand-in is read (`RebuiltNotebook`),
which files belong to one (`as_released`), what is done instead of running its cells (`GradeSteps`)
and what goes into the gradebook (`SaveVerdicts`). Scores pass from the engine to the gradebook in
memory, never through a cell's output or metadata. A notebook that cannot be graded gets no score, a
sentence and a mark for a human to look at it; it never ends the grading of a class.
"""

import atexit
import functools
import re
import secrets
from dataclasses import replace
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader import utils
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor, SaveAutoGrades
from traitlets import Float, Integer

from autograder import course, grading
from autograder.classroom import CHECK, KEY, RELEASE, submitted
from autograder.classroom.rebuild import rebuild
from autograder.environment import describe
from autograder.report import gradescope, terminal
from autograder.report.fragment import step_html, with_code
from autograder.report.words import printable
from autograder.result import Grading, SubmissionResult
from autograder.sandbox import Sandbox
from autograder.submission import BadInput, read

# nbgrader's pages have a style that hides what shows that a hint can be opened.
STYLE = "<style>summary { display: list-item; cursor: pointer; }</style>"


class ClearMarkedSolutions(ClearSolutions):
    """Cuts out what stands between BEGIN SOLUTION and END SOLUTION, and nothing else.

    The notebooks in exercises/ have no answers left in them. nbgrader's own preprocessor takes a
    solution cell without markers for an answer and would empty their skeletons.
    """

    def preprocess_cell(self, cell, resources, cell_index):
        if not re.search(r"(BEGIN|END) SOLUTION", cell.source):
            return cell, resources
        return super().preprocess_cell(cell, resources, cell_index)


def as_released(assignment: str, student: str, notebooks: list[str]) -> None:
    """Before a hand-in is converted: its only notebook counts, whatever it is called.

    nbgrader looks a notebook up by its file name and gives up on a hand-in with none that it knows.
    `notebooks` is the converter's own list; the hook may change it, and nothing in the folder.
    """
    folder = Path(notebooks[0]).parent
    released = sorted(path.name for path in Path(RELEASE, folder.name).glob("*.ipynb"))
    if len(released) == 1 and not any(Path(path).name in released for path in notebooks):
        notebooks[:] = [str(folder / released[0])]


class RebuiltNotebook(NotebookExporter):
    """Reads a hand-in and gives back the released notebook with its solution cells."""

    def from_filename(self, filename, resources=None, **kwargs):
        names = resources["nbgrader"]
        directory = self.parent.coursedir
        where = (names["student"], names["assignment"])
        folder = Path(directory.format_path(directory.submitted_directory, *where))
        if Path(filename).parent != folder:  # the second pass, over what this method has made
            return super().from_filename(filename, resources=resources, **kwargs)
        release = Path(directory.format_path(directory.release_directory, ".", where[1]))
        release = release / f"{names['notebook']}.ipynb"
        if not release.is_file():
            raise NbGraderException(f"{release} is missing; run nbgrader generate_assignment")
        notebook = nbformat.read(release, as_version=4)
        trouble, notes = "", []
        try:
            handed_in = submitted.read(folder, names["notebook"])
            notebook, notes = rebuild(notebook, handed_in)
        except BadInput as error:
            trouble = f"The hand-in cannot be read: {error}."
        except Exception as error:  # noqa: BLE001 - whatever the file holds, the class goes on
            trouble = f"The hand-in cannot be read ({type(error).__name__})."
        notebook.metadata[KEY] = {"notes": [_line(note) for note in notes], "trouble": trouble}
        return self.from_notebook_node(notebook, resources, **kwargs)


class GradeSteps(NbGraderPreprocessor):
    """Grades the steps of a rebuilt notebook and puts each report below the step's check cell."""

    seed = Integer(
        None, allow_none=True, help="Draws the cases; drawn at random for each run unless given."
    ).tag(config=True)
    timeout = Float(grading.DEFAULT_TIMEOUT, help="Seconds that one case of a step may run.").tag(
        config=True
    )

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        who = f"{names['student']}, {names['notebook']}"
        about = nb.metadata[KEY]
        resources[KEY] = scores = {}
        if not about["trouble"]:
            try:
                self._grade(nb, resources, scores)
            except Exception as error:
                scores.clear()
                self.log.debug("%s", error, exc_info=True)
                about["trouble"] = f"The grader failed ({type(error).__name__}: {error})."
        if about["trouble"]:
            about["trouble"] = _line(f"{about['trouble']} It has no score yet: please look at it.")
        for note in (about["trouble"], *about["notes"]):
            if note:
                self.log.warning("%s: %s", who, note)
        if about["trouble"] or about["notes"]:
            nb.cells.insert(0, _notes_cell([about["trouble"], *about["notes"]]))
        return nb, resources

    def _grade(self, nb, resources, scores: dict[str, float]) -> None:
        where = resources["metadata"]
        submission = read(Path(where["path"], f"{where['name']}.ipynb"))
        seed = _seed() if self.seed is None else self.seed
        settings = grading.Settings(seed, self.timeout)
        results = []
        for cell in nb.cells:
            step = _step_of(cell)
            if step is None:
                continue
            result = grading.grade_step(submission, step, _sandbox(), settings, lambda *_: None)
            scores[cell.metadata.nbgrader.grade_id] = result.points
            shown = {
                "text/html": STYLE + step_html(result),
                "text/plain": terminal.step_text(result),
            }
            cell.outputs = [new_output("display_data", shown)]
            results.append(result)
        graded = Grading(seed, describe(), [SubmissionResult(submission.path.name, results)])
        nb.metadata[KEY]["grading"] = graded.to_json()
        nb.metadata[KEY]["gradescope"] = gradescope.results(graded)


class SaveVerdicts(SaveAutoGrades):
    """Writes the engine's scores into the gradebook. A cell without one waits for a human."""

    def _add_score(self, cell, resources):
        if utils.is_solution(cell):  # an answer in words: nbgrader knows what to do
            super()._add_score(cell, resources)
            return
        grade_id = cell.metadata.nbgrader.grade_id
        names = (self.notebook_id, self.assignment_id, self.student_id)
        grade = self.gradebook.find_grade(grade_id, *names)
        grade.auto_score = resources[KEY].get(grade_id)
        grade.needs_manual_grade = grade.auto_score is None or grade.manual_score is not None
        self.gradebook.db.commit()


def _step_of(cell) -> course.Step | None:
    """The step whose points a cell of the release carries; its points are the release's."""
    meta = cell.metadata.get("nbgrader", {})
    if not meta.get("grade") or meta.get("solution") or not meta.grade_id.endswith(CHECK):
        return None
    step = course.find_step(meta.grade_id.removesuffix(CHECK))
    return step and replace(step, points=meta.points)


def _line(text: str) -> str:
    """Text on one line: a file's name may hold what would begin a new line of a log or a page."""
    return " ".join(printable(text).split())


def _notes_cell(notes: list[str]):
    """File names and the like are the learner's, so the sentences are HTML in which all is text."""
    items = "".join(f"<li>{with_code(note)}</li>" for note in notes if note)
    text = f"<div><b>How this notebook was read</b><ul>{items}</ul></div>"
    return new_markdown_cell(text, id="how-it-was-read")


@functools.cache
def _seed() -> int:
    """One for all that a process grades: a class is graded on the same cases."""
    return secrets.randbelow(2**31)


@functools.cache
def _sandbox() -> Sandbox:
    """One worker for all that a process grades. It mends itself when a run breaks it."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox
