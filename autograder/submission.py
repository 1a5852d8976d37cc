"""A submission: a notebook or a `.py` file, read as text and never run here.

Finds, for a wanted function, the top-level statements that bind it and everything it needs;
checks, prints and experiments in other cells are left out. Every statement keeps its cell and
line, so that a message can say "cell 4, line 12". Must never execute or import learner code.
"""

import ast
import dis
import json
import re
import stat
import types
from dataclasses import dataclass, field
from pathlib import Path

# Cell magics that leave the rest of the cell Python; any other makes the cell something else.
TRANSPARENT_MAGICS = {"time", "timeit", "capture", "prun"}
# Calls whose effect, not their value, is needed by a kernel.
KEPT_CALLS = {"triton.set_allocator", "set_allocator"}
# Methods whose effect on what they are called on is needed as well: lists of configs, and operators.
KEPT_METHODS = {
    "append", "extend", "insert", "update", "add_pre_run_hook", "define", "impl",
    "register_autograd", "register_fake", "register_kernel",
}  # fmt: skip
OPERATOR = re.compile(r"\w+::\w+")  # how torch.library names an operator
# What the worker calls a `.py` file: its own name may hold what ptxas refuses in a file's name.
FILENAME = "submission.py"
# Characters in one cell: some expressions take Python a time that grows with their square to parse.
MOST_CODE = 100_000


class BadInput(Exception):
    """The path, the file or an option cannot be used. One sentence; exit code 2."""


@dataclass(frozen=True)
class Cell:
    """One code cell, or a whole `.py` file. `label` is how a message names it."""

    label: str
    filename: str
    source: str


@dataclass(frozen=True)
class Statement:
    """A top-level statement: where it stands, the names it binds, the names it needs, and those
    whose objects it changes."""

    cell: Cell
    index: int
    node: ast.stmt
    binds: frozenset[str]
    needs: frozenset[str]
    changes: frozenset[str]


@dataclass
class Submission:
    """The code of one submission. `notes` are sentences for the learner, not verdicts."""

    path: Path
    cells: list[Cell]
    statements: list[Statement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    broken: list[tuple[Cell, SyntaxError]] = field(default_factory=list)

    @classmethod
    def from_cells(cls, path: Path, cells: list[Cell]) -> "Submission":
        submission = cls(path, cells)
        for cell in cells:
            try:
                submission.statements += _statements(cell)
            except SyntaxError as error:
                submission.broken.append((cell, error))
        return submission

    def functions(self) -> set[str]:
        """Names that a statement of this submission binds."""
        return {name for statement in self.statements for name in statement.binds}

    def slice_for(self, function: str) -> list[Statement]:
        """The statements needed to define `function`, in the order they stand."""
        imports = [s for s in self.statements if isinstance(s.node, (ast.Import, ast.ImportFrom))]
        imported = {name for statement in imports for name in statement.binds}
        wanted, reached = {function}, set()
        kept: set[int] = set()
        while wanted:
            name = wanted.pop()
            reached.add(name)
            for position, statement in enumerate(self.statements):
                changed = statement.changes - imported  # a setting of a library's is none of ours
                if name in statement.binds | changed or "*" in statement.binds:
                    kept.add(position)
                    wanted |= statement.needs - reached
        kept |= {i for i, s in enumerate(self.statements) if _kept_call(s.node)}
        return [self.statements[i] for i in sorted(kept)]

    def payload(self, function: str) -> dict:
        """What the worker needs to define `function`: whole cells, and which statements count."""
        kept = self.slice_for(function)
        return {
            "function": function,
            "cells": [
                {
                    "filename": cell.filename,
                    "source": cell.source,
                    "statements": [s.index for s in kept if s.cell is cell],
                }
                for cell in self.cells
                if any(s.cell is cell for s in kept)
            ],
        }

    def notes_for(self, function: str) -> list[str]:
        """Sentences that a learner should see beside the marks of this function."""
        homes = [s for s in self.statements if function in s.binds]
        found = list(self.notes)
        if len(homes) > 1:
            places = ", ".join(self.place(s.cell.filename, s.node.lineno) for s in homes)
            found.append(f"{function} is defined {len(homes)} times ({places}); the last counts.")
        return found

    def syntax_error_for(self, function: str) -> str | None:
        """A sentence on the cell that cannot be parsed and should define `function`."""
        for cell, error in self.broken:
            if f"def {function}" in cell.source:
                where = self.place(cell.filename, error.lineno or 1)
                return f"{where}: this is not valid Python: {error.msg}."
        return None

    def place(self, filename: str, line: int) -> str:
        """ "cell 4, line 12" for a notebook, "line 12" for a file."""
        label = next((c.label for c in self.cells if c.filename == filename), "")
        return f"{label}, line {line}" if label else f"line {line}"

    def text(self, filename: str, line: int) -> str:
        """The source text of one line, stripped; empty where there is none."""
        for cell in self.cells:
            if cell.filename == filename:
                lines = cell.source.splitlines()
                return lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return ""


# --- reading ----------------------------------------------------------------------------------


def read(path: Path) -> Submission:
    """Reads a notebook or `.py` file.

    Raises BadInput when the file is missing, is no text, or is no notebook.
    """
    check_path(path)
    if path.suffix == ".py":
        return Submission.from_cells(path, [Cell("", FILENAME, _text(path))])
    return Submission.from_cells(path, _code_cells(path, read_notebook(path)))


def check_path(path: Path) -> None:
    """Raises BadInput where no submission can be: another suffix, nothing there, or no file."""
    if path.suffix not in (".py", ".ipynb"):
        raise BadInput(f"{path}: expected a notebook (.ipynb) or a Python file (.py)")
    check_file(path)


def check_file(path: Path) -> None:
    """Raises BadInput for a path with no ordinary file; reading a pipe would wait without end."""
    try:
        ordinary = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    if not ordinary:
        raise BadInput(f"{path}: not an ordinary file")


def _text(path: Path) -> str:
    check_file(path)
    try:
        # utf-8-sig also takes a byte order mark; universal newlines take CRLF.
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not a text file in UTF-8") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    if "\0" in text:
        raise BadInput(f"{path}: not a text file (it contains a null byte)")
    return text


def read_notebook(path: Path):
    """The notebook in a file, as nbformat's version 4.

    Its cells have a `cell_type` and a `source`; whether the rest is as it should be is not checked.
    Raises BadInput when the file is missing, is no text, or is no notebook.
    """
    import nbformat  # slow to import, and .py files do not need it

    text = _text(path)
    if not text.strip():
        raise BadInput(f"{path}: the notebook is empty (0 bytes of JSON)")
    try:
        nbformat.reader.parse_json(text)
    except (nbformat.reader.NotJSONError, json.JSONDecodeError, RecursionError):
        raise BadInput(f"{path}: not a notebook: the file is not valid JSON") from None
    try:
        with _quiet():
            notebook = nbformat.reads(text, as_version=4)
        for cell in notebook["cells"]:
            cell["cell_type"], cell["source"] = str(cell["cell_type"]), str(cell["source"])
    except Exception:  # noqa: BLE001 - nbformat raises many kinds on malformed notebooks
        text = "open it in JupyterLab and save it again, or export it anew"
        raise BadInput(f"{path}: not a notebook that can be read; {text}") from None
    return notebook


def _code_cells(path: Path, notebook) -> list[Cell]:
    # Counted with the text cells, as the status bars of JupyterLab and VS Code do.
    sources = [
        (number, cell["source"])
        for number, cell in enumerate(notebook["cells"], 1)
        if cell["cell_type"] == "code"
    ]
    if not sources:
        raise BadInput(f"{path}: the notebook has no code cells")
    return [numbered_cell(number, source) for number, source in sources]


def numbered_cell(number: int, source: str, label: str | None = None) -> Cell:
    """A code cell with IPython's magics turned into Python, line numbers unchanged."""
    return Cell(label or f"cell {number}", f"cell_{number:02d}.py", _without_magics(source))


class _quiet:
    """nbformat warns about missing cell ids, which is nothing a learner can act on."""

    def __enter__(self):
        import warnings

        self._catch = warnings.catch_warnings()
        self._catch.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *exc):
        return self._catch.__exit__(*exc)


def _without_magics(source: str) -> str:
    """IPython syntax → Python. A cell that is not Python (%%bash) becomes empty."""
    source = source.replace("\r\n", "\n")
    first = source.lstrip("\n").partition("\n")[0]
    if first.startswith("%%"):
        if first[2:].split(maxsplit=1)[:1] and first[2:].split()[0] in TRANSPARENT_MAGICS:
            source = source.replace(first, "", 1)
        else:
            return ""
    if len(source) > MOST_CODE:
        return source  # reported when the function is wanted
    try:
        ast.parse(source)
        return source
    except (SyntaxError, ValueError):
        pass
    except (MemoryError, RecursionError):
        return source
    from IPython.core.inputtransformer2 import TransformerManager

    blank = len(source) - len(source.lstrip("\n"))  # transform_cell drops leading empty lines
    try:
        return "\n" * blank + TransformerManager().transform_cell(source)
    except SyntaxError:
        return source  # reported with its line when the function is wanted


# --- names ------------------------------------------------------------------------------------


def _statements(cell: Cell) -> list[Statement]:
    """Raises SyntaxError, for whatever reason a cell cannot be read as Python."""
    if len(cell.source) > MOST_CODE:
        raise SyntaxError(f"it has more than {MOST_CODE:,} characters, too many to read")
    try:
        tree = ast.parse(cell.source, filename=cell.filename)
        return [Statement(cell, i, node, *_names(node)) for i, node in enumerate(tree.body)]
    except (MemoryError, RecursionError):
        raise SyntaxError("its expressions are nested too deeply to read") from None
    except ValueError as error:  # such as half of a surrogate pair
        raise SyntaxError(str(error)) from None


def _names(node: ast.stmt) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Module-level names that a statement binds, those that it or its functions read, and those
    whose objects it changes.

    The first two from the compiled code rather than the syntax tree, so that local variables do not
    count. An operator of torch.library is a name too: whatever mentions it changes and needs it.
    """
    code = compile(ast.Module([node], type_ignores=[]), "<cell>", "exec")
    binds = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_NAME", "STORE_GLOBAL")}  # fmt: skip
    if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
        binds.add("*")
    changes, operators = _changes(node)
    return frozenset(binds), frozenset(_reads(code) | operators), frozenset(changes | operators)


def _changes(node: ast.stmt) -> tuple[set[str], set[str]]:
    """Names of objects that a statement changes when it runs, and operators that it mentions."""
    changed, operators = set(), set()
    body = isinstance(node, (ast.FunctionDef, ast.ClassDef))  # runs later, if at all
    todo: list[ast.AST] = list(node.decorator_list) if body else [node]
    while todo:
        part = todo.pop()
        if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            todo += part.decorator_list
            continue
        todo += ast.iter_child_nodes(part)
        called = isinstance(part, ast.Attribute) and part.attr in KEPT_METHODS
        stored = isinstance(getattr(part, "ctx", None), ast.Store)
        if called or (stored and isinstance(part, (ast.Attribute, ast.Subscript))):
            changed.add(_root(part))
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            operators |= {part.value} if OPERATOR.fullmatch(part.value) else set()
    return changed - {""}, operators


def _root(node: ast.AST) -> str:
    """The name that a chain of attributes and indices begins with, if it does with one."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _reads(code: types.CodeType) -> set[str]:
    names = {
        i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_NAME", "LOAD_GLOBAL")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _reads(constant)
    return names


def _kept_call(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in KEPT_CALLS
    )
