"""What a learner handed in: the file of a folder that counts, and its cells.

Takes notebooks as learners' tools leave them: renamed, with a byte order mark, with Windows line
ends, of an old format, without metadata. Whatever the file says about points, grades and results
is read for the notes only. Must never write into the folder, and never run code.
"""

from dataclasses import dataclass
from pathlib import Path

from autograder.submission import MOST_CODE, BadInput, read_notebook

LARGEST = 100_000_000  # bytes; nbgrader's own limit for what it collects


@dataclass(frozen=True)
class SubmittedCell:
    """A cell as it was handed in. `claims` is nbgrader's metadata, of which nothing is believed."""

    number: int  # from 1, text cells counted
    is_code: bool
    ids: frozenset[str]
    claims: dict
    source: str


@dataclass(frozen=True)
class Submitted:
    """The cells of a hand-in, with a sentence on each thing that is unusual about the file."""

    cells: list[SubmittedCell]
    notes: list[str]


def read(folder: Path, name: str) -> Submitted:
    """The hand-in for the released notebook `name` (without ".ipynb").

    Raises BadInput, one sentence without a path of this machine, when no file can be taken for it.
    """
    notes = []
    path = _find(folder, name, notes)
    if path.is_symlink() or not path.is_file():
        raise BadInput(f"{path.name} is not an ordinary file")
    if path.stat().st_size > LARGEST:
        raise BadInput(f"{path.name} is larger than {LARGEST // 1_000_000} MB")
    with path.open("rb") as file:
        if file.read(3) == b"\xef\xbb\xbf":
            notes.append("The file begins with a byte order mark, which was skipped.")
    try:
        notebook = read_notebook(path)
    except BadInput as error:
        raise BadInput(str(error).replace(f"{path}:", f"{path.name}:", 1)) from None
    if any("\r" in cell.source for cell in notebook.cells):
        notes.append("The cells have Windows line ends, which were changed.")
    cells = [_cell(number, cell) for number, cell in enumerate(notebook.cells, 1)]
    if sum(len(cell.source) for cell in cells if cell.is_code) > MOST_CODE:
        raise BadInput(f"{path.name} holds more than {MOST_CODE:,} characters of code")
    if cells and not any(cell.claims for cell in cells):
        notes.append("nbgrader's metadata are gone; the steps were looked for by name.")
    return Submitted(cells, notes)


def _find(folder: Path, name: str, notes: list[str]) -> Path:
    path = folder / f"{name}.ipynb"
    others = sorted(p for p in folder.glob("*.ipynb") if p != path)
    names = ", ".join(f"“{p.name}”" for p in others)
    if path.exists():
        if others:
            notes.append(f"{path.name} was graded; left alone: {names}.")
        return path
    if len(others) == 1:
        notes.append(f"The file is called {names}; it was taken for {path.name}.")
        return others[0]
    if others:
        raise BadInput(f"none of these is called {path.name}, and one must be: {names}")
    raise BadInput(f"there is no notebook {path.name}")


def _cell(number: int, cell) -> SubmittedCell:
    metadata = cell.get("metadata")
    claims = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    claims = claims if isinstance(claims, dict) else {}
    # An exercise's cell has its grade_id as its id, which tools keep that drop the metadata.
    ids = {value for value in (claims.get("grade_id"), cell.get("id")) if isinstance(value, str)}
    is_code = cell.cell_type == "code"
    return SubmittedCell(number, is_code, frozenset(ids), dict(claims), _clean(cell.source))


def _clean(source: str) -> str:
    """Text that can be written to a file and parsed: no half characters, no null bytes."""
    source = source.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return source.encode("utf-8", "replace").decode("utf-8")
