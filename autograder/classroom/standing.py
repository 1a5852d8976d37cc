"""Where each student stands in each assignment: one reading of the gradebook for every export.

"Not submitted", "crashed" and "zero" are different things. A score that nobody has given is None,
never 0. Scores come from the gradebook, where an instructor may have changed them; what led to them
comes from the autograded notebooks. Must never write anything.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory

from autograder.classroom import KEY

NOT_SUBMITTED = "not submitted"  # nothing lies in submitted/
NOT_GRADED = "not graded"  # something lies there, and autograde has made nothing of it
NO_SCORE = "no score"  # it could not be read or graded, or waits for a human
GRADED = "graded"
UNSEEN = "autograde has not run, met an error, or found no notebook at the top of the folder."
# A submission that was graded and did one of these has this status, the last of the list first.
NOTABLE = ("crashed", "timed_out", "refused")


@dataclass(frozen=True)
class Part:
    """One cell with points. `score` is None until a grader or a human has given one."""

    grade_id: str
    score: float | None
    max_score: float


@dataclass(frozen=True)
class Standing:
    """A student in an assignment. Scores are None unless every part has one.

    `about` is what autograde wrote into the autograded notebooks, one entry for each.
    """

    assignment: str
    due: datetime | None
    student: object
    submitted: datetime | None
    status: str
    raw_score: float | None
    penalty: float | None
    max_score: float
    parts: list[Part]
    about: list[dict]

    @property
    def score(self) -> float | None:
        """The points that count."""
        return None if self.raw_score is None else max(0.0, self.raw_score - self.penalty)

    @property
    def notes(self) -> list[str]:
        """Sentences on what is unusual about the hand-in."""
        found = [note for about in self.about for note in (about["trouble"], *about["notes"])]
        return [note for note in found if note]


def standings(
    gradebook: Gradebook, directory: CourseDirectory, assignments: list, students: list
) -> Iterator[Standing]:
    """Every student of the gradebook in every assignment, or only those named."""
    for assignment in gradebook.assignments:
        if assignments and assignment.name not in map(str, assignments):
            continue
        for student in gradebook.students:
            if not students or student.id in map(str, students):
                yield _standing(gradebook, directory, assignment, student)


def _standing(gradebook, directory, assignment, student) -> Standing:
    def folder(step: str) -> Path:
        return Path(directory.format_path(step, student.id, assignment.name))

    about = [
        _about(path) for path in sorted(folder(directory.autograded_directory).glob("*.ipynb"))
    ]
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        submission = None
    parts, raw_score, penalty = [], None, None
    if submission is None or not about:
        handed_in = folder(directory.submitted_directory)
        empty = not handed_in.is_dir() or not any(handed_in.iterdir())
        status = NOT_SUBMITTED if submission is None and empty else NOT_GRADED
        if status == NOT_GRADED:
            about = [{"notes": [UNSEEN], "trouble": ""}]
    else:
        parts = [_part(grade) for notebook in submission.notebooks for grade in notebook.grades]
        if any(part.score is None for part in parts):
            status = NO_SCORE
        else:
            status = _how(about)
            raw_score, penalty = submission.score, submission.late_submission_penalty or 0.0
    return Standing(
        assignment.name,
        assignment.duedate,
        student,
        submission and submission.timestamp,
        status,
        raw_score,
        penalty,
        assignment.max_score,
        parts,
        about,
    )


def _part(grade) -> Part:
    given = grade.auto_score is not None or grade.manual_score is not None
    return Part(grade.name, grade.score if given else None, grade.max_score)


def _about(path: Path) -> dict:
    metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
    return metadata.get(KEY) or {"notes": ["Graded without this course's engine."], "trouble": ""}


def _how(about: list[dict]) -> str:
    seen = {
        check["status"]
        for one in about
        for submission in one.get("grading", {}).get("submissions", [])
        for step in submission["steps"]
        for check in step["checks"]
    }
    notable = [status for status in NOTABLE if status in seen]
    return notable[-1].replace("_", " ") if notable else GRADED
