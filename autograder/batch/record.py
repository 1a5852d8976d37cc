"""The result file of one submission: `RESULTS/STUDENT/EXERCISE.json`.

Its `state` keeps apart what a mark of zero would mix up:

graded         it was graded; no points is a mark of zero
crashed        it was graded, and a run of it crashed; its points are for what else is right
timed_out      the same of a run that did not end
refused        the same of a step that was refused: the work was another's
not_submitted  nobody handed it in
unreadable     something was handed in that cannot be graded, and `reason` says why
failed         the grader itself could not do it, and `reason` says why; the next run tries again

Must never hold half a result: a file is there and whole, or it does not count.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from autograder.files import write_whole
from autograder.result import Grading

SCHEMA = 1
# Statuses of checks that name the state of a graded submission, the last of the list first.
NOTABLE = ("crashed", "timed_out", "refused")
STATES = ("graded", *NOTABLE, "not_submitted", "unreadable", "failed")


@dataclass
class Record:
    """What is known of one submission.

    `file` is relative to the folder of the class, and empty where nothing was handed in. `basis` is
    what the result depends on. `points` is None where there is no mark. `tokens` is the learner's
    code as similar.py reads it, with blanks between. `grading` is what `grade --json` writes.
    """

    student: str
    exercise: str
    file: str
    state: str
    basis: dict
    max_points: float
    reason: str = ""
    points: float | None = None
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    tokens: str = ""
    grading: dict | None = None

    def steps(self) -> list[dict]:
        """The graded steps, as `grade --json` writes them."""
        return [s for sub in self.grading["submissions"] for s in sub["steps"]] if self.grading else []  # fmt: skip


def path_of(results: Path, student: str, exercise: str) -> Path:
    """Where the result file of a submission lies."""
    return results / student / f"{exercise}.json"


def save(path: Path, record: Record) -> None:
    """Writes the file, whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": SCHEMA, **asdict(record)}, indent=1)
    write_whole(path, (text + "\n").encode())


def load(path: Path) -> Record | None:
    """The record in a file, or None where there is none that this version wrote."""
    try:
        told = json.loads(path.read_bytes())
        if told.pop("schema") != SCHEMA:
            return None
        record = Record(**told)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return record if record.state in STATES else None


def graded(grading: Grading, **about) -> Record:
    """The record of a submission that was graded; `about` are fields of Record."""
    told = grading.to_json()
    statuses = {c.status for s in grading.steps() for c in s.checks}
    return Record(
        **about,
        state=next((s for s in reversed(NOTABLE) if s in statuses), "graded"),
        points=told["points"],
        seconds=round(sum(s.seconds for s in grading.steps()), 3),
        grading=told,
    )
