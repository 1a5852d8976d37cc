"""The released notebook with a learner's solution cells in it: what is graded and what is shown.

Everything but the solution comes from the release: texts, checks, points, the order. From the
hand-in come, for each step, one cell and the statements elsewhere that this cell needs. Must never
let a hand-in change, add or remove anything that carries points, and never run code.
"""

import copy
from dataclasses import dataclass, field
from pathlib import Path

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell

from autograder import course
from autograder.classroom import CHECK
from autograder.classroom.submitted import Submitted, SubmittedCell
from autograder.submission import Statement, Submission, numbered_cell


@dataclass
class _Helpers:
    """Statements that answers need, by the number of their cell: which lines of it."""

    lines: dict[int, set[int]] = field(default_factory=dict)

    def add(self, number: int, statement: Statement) -> None:
        node = statement.node
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        self.lines.setdefault(number, set()).update(range(first, node.end_lineno + 1))


def rebuild(release: NotebookNode, submitted: Submitted) -> tuple[NotebookNode, list[str]]:
    """The notebook to grade, and a sentence on each thing that was not as it was released."""
    notes = list(submitted.notes)
    solutions = [cell for cell in release.cells if _role(cell, "solution")]
    reader = _Reader(release, submitted)
    answers = {}
    for cell in solutions:
        grade_id = cell.metadata.nbgrader.grade_id
        answers[grade_id] = reader.answer(grade_id, notes)
    notes += _notes_on_checks(release, submitted)
    numbers = [answer.number for answer in answers.values() if answer]
    if not numbers and not any(reader.with_id(grade_id) for grade_id in answers):
        notes.append("None of the steps is in this file. Does it belong to another assignment?")
    if numbers != sorted(numbers):
        notes.append("The steps stand in another order; they were graded in the released order.")
    before, after = reader.helpers(answers)
    cells = []
    for cell in copy.deepcopy(release.cells):
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
        answer = answers.get(cell.metadata.nbgrader.grade_id) if _role(cell, "solution") else None
        if answer is None:
            cells.append(cell)
            continue
        grade_id = cell.metadata.nbgrader.grade_id
        cell.source = answer.source
        cells += reader.helper_cells(before[grade_id], grade_id)
        cells.append(cell)
        cells += reader.helper_cells(after[grade_id], grade_id)
    notebook = NotebookNode({**release, "cells": cells})
    kept = {n for helpers in (*before.values(), *after.values()) for n in helpers.lines}
    if kept:
        notes.append(f"Code that an answer needs was kept from {_cells(kept)} of the hand-in.")
    return notebook, notes


class _Reader:
    """Finds things in a hand-in: the answer to a step, and what the answer needs."""

    def __init__(self, release: NotebookNode, submitted: Submitted):
        self.cells = submitted.cells
        self.released = {_normal(cell.source) for cell in release.cells}
        # One for one with the hand-in's cells; those that hold no code are empty.
        code = [numbered_cell(c.number, c.source if c.is_code else "") for c in self.cells]
        self.code = Submission.from_cells(Path("notebook"), code)
        self.numbers = {id(c): cell.number for c, cell in zip(self.code.cells, self.cells)}

    def is_released(self, cell: SubmittedCell) -> bool:
        """Whether it is word for word a cell of the release, such as a skeleton."""
        return _normal(cell.source) in self.released

    def with_id(self, grade_id: str) -> list[SubmittedCell]:
        return [cell for cell in self.cells if grade_id in cell.ids]

    def answer(self, grade_id: str, notes: list[str]) -> SubmittedCell | None:
        """The cell that answers a solution cell: by its id, else by the step's function.

        A cell that still is as it was released is no answer. Of several the last counts.
        """
        step = course.find_step(grade_id)
        changed = [cell for cell in self.cells if not self.is_released(cell)]
        by_id = [cell for cell in changed if grade_id in cell.ids]
        defining = [cell for cell in changed if step and self._defines(cell, grade_id)]
        both = [cell for cell in by_id if cell in defining]
        found = both or defining or by_id
        if not found:
            if not self.with_id(grade_id):
                notes.append(f"No cell for `{grade_id}` was found; it counts as not answered.")
            return None
        answer = found[-1]
        copies = [c for c in [*by_id, *defining] if c.source != answer.source]
        copies = {c.number for c in [*copies, *self.with_id(grade_id)]} | {answer.number}
        if len(copies) > 1:
            where = _cells(copies)
            notes.append(f"`{grade_id}` stands in {where}; cell {answer.number} counts.")
        elif not by_id and any(cell.claims for cell in self.cells):
            notes.append(f"`{grade_id}` was found by name, in cell {answer.number}.")
        return answer

    def helpers(self, answers: dict[str, SubmittedCell | None]):
        """What the answers need from other cells, to stand before and after each of them."""
        given = {cell.number for cell in answers.values() if cell}
        given_names = {
            name for s in self.code.statements if self._number(s) in given for name in s.binds
        }
        before = {grade_id: _Helpers() for grade_id in answers}
        after = {grade_id: _Helpers() for grade_id in answers}
        seen = set()
        for grade_id, answer in answers.items():
            if answer is None:
                continue
            for statement in self.code.slice_for(grade_id):
                number = self._number(statement)
                released = self.is_released(self.cells[number - 1])
                answered = statement.binds and statement.binds <= given_names
                if number in given or released or answered or (number, statement.index) in seen:
                    continue
                seen.add((number, statement.index))
                place = before if number < answer.number else after
                place[grade_id].add(number, statement)
        return before, after

    def helper_cells(self, helpers: _Helpers, grade_id: str) -> list[NotebookNode]:
        cells = []
        for number, lines in sorted(helpers.lines.items()):
            text = self.code.cells[number - 1].source.split("\n")
            kept = "\n".join(text[line - 1] for line in sorted(lines))
            source = f"# From cell {number} of the hand-in: `{grade_id}` needs it.\n{kept}"
            cells.append(new_code_cell(source, id=f"{grade_id}-{number}"))
        return cells

    def _number(self, statement: Statement) -> int:
        return self.numbers[id(statement.cell)]

    def _defines(self, cell: SubmittedCell, name: str) -> bool:
        """Whether a cell binds the name, or looks as if it should where it is not valid Python."""
        mine = [s for s in self.code.statements if self._number(s) == cell.number]
        broken = any(self.numbers[id(c)] == cell.number for c, _ in self.code.broken)
        return any(name in s.binds for s in mine) or (broken and f"def {name}(" in cell.source)


def _notes_on_checks(release: NotebookNode, submitted: Submitted) -> list[str]:
    notes = []
    for cell in release.cells:
        if not _role(cell, "grade") or _role(cell, "solution"):
            continue
        meta = cell.metadata.nbgrader
        name = f"`{meta.grade_id.removesuffix(CHECK)}`"
        copies = [c for c in submitted.cells if meta.grade_id in c.ids]
        same = any(_normal(c.source) == _normal(cell.source) for c in submitted.cells)
        if not copies and not same:
            notes.append(f"The check cell of {name} is missing; it was put back.")
        elif any(_normal(c.source) != _normal(cell.source) for c in copies):
            notes.append(f"The check cell of {name} was changed; the released one counts.")
        if any(c.claims.get("points", meta.points) != meta.points for c in copies):
            notes.append(f"The points of {name} were changed; the released ones count.")
    return notes


def _cells(numbers: set[int]) -> str:
    return f"cell{'s' if len(numbers) > 1 else ''} {', '.join(map(str, sorted(numbers)))}"


def _role(cell: NotebookNode, role: str) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get(role))


def _normal(source: str) -> str:
    """Without what editors change unasked: white space at the ends of lines and of the cell."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())
