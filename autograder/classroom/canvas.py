"""A Canvas import made from the instructor's own Canvas export.

    nbgrader export --exporter=autograder.classroom.canvas.CanvasExport \\
        --CanvasExport.gradebook=exported.csv --to import.csv

Canvas tells students apart by columns that only it knows, so its own file is filled in rather than
made from nothing. Students are found by SIS Login ID, SIS User ID or ID; assignments by the name of
the column. Canvas takes numbers only, so a student without a score keeps the cell of the export, and
what a number cannot say goes into a second file beside the first. Must never write a score that
nobody has given, nor touch a column of another assignment.
"""

import csv
import io
import itertools
import re
import sys
from pathlib import Path

from nbgrader.plugins import ExportPlugin
from traitlets import Dict, Unicode

from autograder.classroom.exports import write_table
from autograder.classroom.standing import GRADED, NOT_SUBMITTED, Standing, standings

KEPT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POSSIBLE = (
    "Points Possible"  # where a name would be, in the row that says what an assignment is worth
)
KEYS = ("SIS Login ID", "SIS User ID", "ID")


class _Unusable(Exception):
    """The Canvas export cannot be filled in. One sentence."""


class CanvasExport(ExportPlugin):
    """The scores of the gradebook in the columns of a Canvas export."""

    gradebook = Unicode("", help="The CSV file that Canvas exported.").tag(config=True)
    columns = Dict(
        help="Assignment → name of its column in Canvas, without the number in brackets. "
        "An assignment that is not named here is looked for under its own name."
    ).tag(config=True)

    def export(self, gradebook):
        target = Path(self.to or "canvas-import.csv")
        directory = self.parent.coursedir
        found = list(standings(gradebook, directory, self.assignment, self.student))
        try:
            if target.exists() and target.resolve() == Path(self.gradebook).resolve():
                raise _Unusable(f"{target} is what Canvas exported; give the import another name")
            rows, notes = self._filled(found)
        except _Unusable as error:
            self.log.error("%s", error)
            sys.exit(2)
        beside = target.with_name(f"{target.stem}.notes.csv")
        write_table(target, rows)
        write_table(beside, [("student_id", "assignment", "status", "notes"), *notes])
        self.log.info("Import %s into Canvas; read %s first", target, beside)

    def _filled(self, found: list[Standing]) -> tuple[list, list]:
        """The rows of the import, and of the file of notes."""
        header, rows = self._read()
        columns = self._columns({standing.assignment for standing in found}, header)
        indices = [header.index(name) for name in KEPT if name in header]
        who = self._rows_by_student(header, rows)
        self._compare_points(found, columns, header, rows)
        notes, met = [], set()
        for standing in found:
            column = columns.get(standing.assignment)
            if column is None:
                continue
            row = who.get(standing.student.id)
            met.add(id(row))
            told = list(standing.notes)
            if row is None:
                told.insert(0, "The Canvas export has no such student.")
            elif standing.score is not None:
                row[column] = f"{standing.score:g}"
            if row is None or standing.status != GRADED or told:
                told = " ".join(told)
                notes.append((standing.student.id, standing.assignment, standing.status, told))
        strangers = [row[header.index("ID")] for row in rows if id(row) not in met]
        if self.student:  # only some were asked for
            strangers = []
        for stranger, assignment in itertools.product(filter(None, strangers), columns):
            told = "Canvas's ID; the gradebook has no such student."
            notes.append((stranger, assignment, NOT_SUBMITTED, told))
        kept = [*indices, *sorted(columns.values())]
        return [[row[i] for i in kept] for row in (header, *rows)], notes

    def _read(self) -> tuple[list[str], list[list[str]]]:
        if not self.gradebook:
            raise _Unusable(
                "--CanvasExport.gradebook=FILE is missing: the CSV that Canvas exported"
            )
        try:
            text = Path(self.gradebook).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise _Unusable(f"{self.gradebook}: cannot be read ({error})") from None
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        if not rows or "Student" not in rows[0] or "ID" not in rows[0]:
            raise _Unusable(f"{self.gradebook}: not a Canvas export: no columns Student and ID")
        width = len(rows[0])
        return rows[0], [(row + [""] * width)[:width] for row in rows[1:]]

    def _columns(self, assignments: set[str], header: list[str]) -> dict[str, int]:
        """Assignment → column. Raises _Unusable when no assignment has one."""
        names = {re.sub(r" \(\d+\)$", "", name): i for i, name in enumerate(header)}
        found = {}
        for assignment in sorted(assignments):
            wanted = self.columns.get(assignment, assignment)
            if wanted in names:
                found[assignment] = names[wanted]
            else:
                self.log.warning("No column “%s” in the Canvas export; left out", wanted)
        if not found:
            raise _Unusable(
                f"{self.gradebook}: no column is named like an assignment "
                f"({', '.join(sorted(assignments))}); set CanvasExport.columns"
            )
        return found

    def _compare_points(self, found, columns, header, rows) -> None:
        """Says where Canvas counts an assignment out of other points than the gradebook."""
        possible = next((r for r in rows if r[header.index("Student")].strip() == POSSIBLE), None)
        for assignment, column in columns.items() if possible else ():
            points = next(s.max_score for s in found if s.assignment == assignment)
            if possible[column].strip() not in (
                "",
                f"{points:g}",
                f"{points:.1f}",
                f"{points:.2f}",
            ):
                self.log.warning(
                    "“%s” has %s points in Canvas and %g in the gradebook; scores are not scaled",
                    header[column],
                    possible[column].strip(),
                    points,
                )

    def _rows_by_student(self, header: list[str], rows: list[list[str]]) -> dict[str, list[str]]:
        found = {}
        for key in reversed([name for name in KEYS if name in header]):
            column = header.index(key)
            found.update({row[column]: row for row in rows if row[column]})
        return found
