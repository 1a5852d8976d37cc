"""Turns solutions/NN_slug.py into the notebook that a learner opens.

    python -m autograder.authoring

A solution file is py:percent text: the prose, the skeleton and the reference solution of one
chapter's exercise. This module cuts the solutions out, adds what nbgrader needs to know about
each graded cell, and writes exercises/NN_slug/slug.ipynb.

The same text gives the same bytes on every machine: cell ids are derived, never drawn at random.
It must never publish an answer. A region that is not closed, or that stands in a cell which is not
marked as a solution, is refused before anything is written. It deletes no file.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

import jupytext
import nbformat
from nbformat.notebooknode import NotebookNode

from autograder import choices
from autograder.course import ROOT, STEPS
from autograder.files import write_whole
from autograder.submission import BadInput

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
# What the reference solution does beyond the exercise: the learner's notebook has nothing in its place.
BEGIN_BEYOND = "### BEGIN REFERENCE"
END_BEYOND = "### END REFERENCE"
MARKERS = (BEGIN, END, BEGIN_BEYOND, END_BEYOND)

KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

# Jupytext's own tag: "a comment in Python, code in a notebook". A learner's notebook has no use
# for it.
NOTEBOOK_ONLY = "active-ipynb"


class AuthoringError(Exception):
    """A solution file that cannot become an exercise. The message is one line for its author."""


def exercise_path(source: Path) -> Path:
    """Where the exercise of a solution file belongs, relative to the repository."""
    slug = source.stem.partition("_")[2]
    return Path("exercises", source.stem, f"{slug}.ipynb")


def exercise(source: Path) -> NotebookNode:
    """The learner's notebook for one solution file."""
    cells = _read(source)
    graded = _graded_cells(source, cells)
    seen_ids = {}
    result = []
    for position, cell in enumerate(cells, start=1):
        where = f"{source.name}, cell {position}"
        metadata = {}
        tags = [tag for tag in cell.metadata.get("tags", []) if tag != NOTEBOOK_ONLY]
        if tags:
            metadata["tags"] = tags
        text = cell.source
        if cell.cell_type == "markdown":
            text = _with_points(text)
        grade_id = graded.get(position)
        if grade_id is not None:
            metadata["nbgrader"] = _nbgrader(grade_id)
        if grade_id in _points():
            text = _without_solution(text, where, grade_id)
        elif any(marker in text for marker in MARKERS):
            raise AuthoringError(f"{where}: a solution region in a cell that is not a solution")
        result.append(
            NotebookNode(
                id=grade_id or _derived_id(cell.cell_type, text, seen_ids),
                cell_type=cell.cell_type,
                metadata=NotebookNode(metadata),
                source=text,
            )
        )
        if cell.cell_type == "code":
            result[-1].update(execution_count=None, outputs=[])
    return _notebook(result)


def filled(notebook: NotebookNode, source: Path) -> NotebookNode:
    """A copy of an exercise notebook with the reference solution in its solution cells."""
    cells = _read(source)
    graded = _graded_cells(source, cells)
    answers = {graded[n]: cell.source for n, cell in enumerate(cells, start=1) if n in graded}
    copy = nbformat.from_dict(notebook)
    for cell in copy.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in _points():
            lines = answers[grade_id].split("\n")
            cell.source = "\n".join(line for line in lines if line.strip() not in MARKERS)
    return copy


def dumps(notebook: NotebookNode) -> bytes:
    """The bytes of a notebook file, the same on every platform."""
    text = nbformat.writes(notebook, version=4, indent=1, sort_keys=True, ensure_ascii=False)
    return (text.rstrip("\n") + "\n").encode("utf-8")


def build(solutions: Path, destination: Path) -> list[tuple[Path, bool]]:
    """Writes every exercise below `destination`; returns each path and whether it changed.

    All files are made before the first one is written, so a mistake in one leaves all as they were.
    """
    sources = sorted(solutions.glob("[0-9][0-9]_*.py"))
    if not sources:
        raise AuthoringError(f"{solutions}: no file named NN_slug.py")
    for name in sorted({_source_name(step) for step in STEPS} - {path.stem for path in sources}):
        raise AuthoringError(f"solutions/{name}.py is missing: the course lists steps of it")
    made = [(exercise_path(source), dumps(exercise(source))) for source in sources]
    return [(path, _write(destination / path, data)) for path, data in made]


def _source_name(step) -> str:
    return f"{step.chapter:02d}_{step.slug}"


def _points() -> dict[str, float]:
    """Step name → points: the course catalogue's, or those that this class has chosen."""
    chosen = choices.load()
    return {step.name: chosen.points_of(step) for step in STEPS}


def _with_points(text: str) -> str:
    """The table of steps at the top of an exercise, with the points that count."""
    points = _points()

    def row(match: re.Match) -> str:
        name = match["step"]
        return f"{match['row']}{points[name]:g} |" if name in points else match[0]

    return re.sub(r"(?m)^(?P<row>\| \d+ \| `(?P<step>\w+)\(.*\| )[^|]+ \|$", row, text)


def _read(source: Path) -> list[NotebookNode]:
    text = source.read_text(encoding="utf-8")
    return jupytext.reads(text, fmt="py:percent").cells


def _graded_cells(source: Path, cells: list[NotebookNode]) -> dict[int, str]:
    """Cell position (from 1) → grade_id, once both kinds of cell are there for every step."""
    steps = [step.name for step in STEPS if _source_name(step) == source.stem]
    if not steps:
        raise AuthoringError(f"{source.name}: the course lists no step of this file")
    # What a source may write; every other field of nbgrader's metadata is filled in here.
    allowed = {}
    for name in steps:
        allowed[name] = {"grade_id": name, "solution": True}
        allowed[f"{name}-check"] = {"grade_id": f"{name}-check", "grade": True}
    found = {}
    for position, cell in enumerate(cells, start=1):
        if "nbgrader" not in cell.metadata:
            continue
        where = f"{source.name}, cell {position}"
        written = cell.metadata["nbgrader"]
        grade_id = written.get("grade_id") if isinstance(written, dict) else None
        if grade_id not in allowed:
            raise AuthoringError(f"{where}: unknown grade_id {grade_id!r}; no such step here")
        if written != allowed[grade_id]:
            raise AuthoringError(f"{where}: must be nbgrader={json.dumps(allowed[grade_id])}")
        if cell.cell_type != "code":
            raise AuthoringError(f"{where}: {grade_id!r} must be a code cell")
        if grade_id in found.values():
            raise AuthoringError(f"{where}: duplicate grade_id {grade_id!r}")
        found[position] = grade_id
    present = set(found.values())
    for name in steps:
        if name not in present and f"{name}-check" in present:
            raise AuthoringError(f"{source.name}: {name!r} has a check cell but no solution cell")
        if name not in present:
            raise AuthoringError(f"{source.name}: step {name!r} has no solution cell")
        if f"{name}-check" not in present:
            raise AuthoringError(f"{source.name}: step {name!r} has no check cell")
    return found


def _nbgrader(grade_id: str) -> dict:
    """The whole of nbgrader's cell metadata, version 3.

    `checksum` and `cell_type` are missing on purpose: nbgrader adds both when it releases.
    """
    is_solution = grade_id in _points()
    metadata = {
        "grade": not is_solution,
        "grade_id": grade_id,
        "locked": not is_solution,
        "schema_version": 3,
        "solution": is_solution,
        "task": False,
    }
    if not is_solution:
        metadata["points"] = _points()[grade_id.removesuffix("-check")]
    return metadata


def _without_solution(text: str, where: str, step: str) -> str:
    """The skeleton: each solution region becomes a line that says it is not written yet."""
    kept = []
    closing = ""  # the marker that ends the region in which a line stands
    regions = 0
    for line in text.split("\n"):
        marker = line.strip()
        if marker in (BEGIN, BEGIN_BEYOND):
            if closing:
                raise AuthoringError(f"{where}: {marker[4:]} inside a solution region")
            closing = END if marker == BEGIN else END_BEYOND
            if marker == BEGIN:
                regions += 1
                indent = line[: len(line) - len(line.lstrip())]
                kept.append(f"{indent}# YOUR CODE HERE")
                kept.append(f'{indent}raise NotImplementedError("{step} is not written yet")')
        elif marker in (END, END_BEYOND):
            if marker != closing:
                raise AuthoringError(
                    f"{where}: {marker[4:]} without {marker[4:].replace('END', 'BEGIN')}"
                )
            closing = ""
        elif re.search(r"(BEGIN|END)\s+(SOLUTION|REFERENCE)", line):
            # A marker with a typing error would leave the answer in the learner's notebook.
            raise AuthoringError(f"{where}: not a marker: {marker!r}")
        elif not closing:
            kept.append(line)
    if closing:
        raise AuthoringError(
            f"{where}: {closing[4:].replace('END', 'BEGIN')} without {closing[4:]}"
        )
    if not regions:
        raise AuthoringError(f"{where}: step {step!r} has no solution region")
    return "\n".join(kept)


def _derived_id(cell_type: str, text: str, seen: dict[str, int]) -> str:
    """An id from what the cell holds, so that a new cell leaves the ids of the others alone."""
    digest = hashlib.sha256(f"{cell_type}\n{text}".encode()).hexdigest()[:12]
    seen[digest] = seen.get(digest, 0) + 1
    return digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    notebook = nbformat.from_dict(
        {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    )
    nbformat.validate(notebook)
    return notebook


def _write(path: Path, data: bytes) -> bool:
    """Writes a file unless it holds `data` already; returns whether it did."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return True


def main() -> int:
    try:
        for path, changed in build(ROOT / "solutions", ROOT):
            print(f"{path}: {'written' if changed else 'unchanged'}")
    except (AuthoringError, BadInput) as error:
        print(f"authoring: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
