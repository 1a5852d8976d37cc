"""`nbgrader export`: nbgrader's CSV with what its numbers cannot say.

A score that nobody has given is an empty cell, `status` tells why, and `notes` are for the
instructor. Texts that a spreadsheet would take for a formula are made plain text.
"""

import csv
import io
from pathlib import Path

from nbgrader.plugins import ExportPlugin

from autograder.classroom.standing import Standing, standings
from autograder.files import write_whole

COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
    "status",
    "notes",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class CsvExport(ExportPlugin):
    """One row for each student and assignment: nbgrader's own columns, `status` and `notes`."""

    def export(self, gradebook):
        path = Path(self.to or "grades.csv")
        directory = self.parent.coursedir
        found = standings(gradebook, directory, self.assignment, self.student)
        write_table(path, [COLUMNS, *(_row(standing) for standing in found)])
        self.log.info("Exported grades to %s", path)


def write_table(path: Path, rows: list) -> None:
    """Writes rows of texts, numbers, dates and None (an empty cell), in UTF-8."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([guarded(value) for value in row] for row in rows)
    write_whole(path, text.getvalue().encode("utf-8"))


def guarded(value) -> object:
    """A text that begins like a formula gets an apostrophe in front; all else stays as it is."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _row(standing: Standing) -> list:
    student = standing.student
    return [
        standing.assignment,
        standing.due,
        standing.submitted,
        student.id,
        student.last_name,
        student.first_name,
        student.email,
        standing.raw_score,
        standing.penalty,
        standing.score,
        standing.max_score,
        standing.status,
        " ".join(standing.notes),
    ]
