"""Defines the learner's function in a fresh module, from the statements that the grader chose.

Each cell is a real file in the working folder, because Triton reads a kernel's source from its
file and a traceback then names the cell. Must never execute a statement that was not chosen.
"""

import ast
import sys
import types
from collections.abc import Callable
from pathlib import Path

MODULE = "submission"


def _as_it_is(function: ast.FunctionDef, path: str) -> None:
    """Changes nothing."""


# What is done to the tree of a function before it is compiled; the interpreter exchanges it.
prepare: Callable[[ast.FunctionDef, str], None] = _as_it_is


def load(payload: dict, folder: Path):
    """Writes the cells into `folder`, executes the chosen statements, returns the function.

    Raises whatever the learner's statements raise, and NameError if nothing is bound.
    """
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    for cell in payload["cells"]:
        path = folder / cell["filename"]
        path.write_text(cell["source"], encoding="utf-8")
        module.__file__ = str(path)
        body = ast.parse(cell["source"], filename=str(path)).body
        chosen = ast.Module([body[i] for i in cell["statements"]], type_ignores=[])
        for node in chosen.body:
            if isinstance(node, ast.FunctionDef):
                prepare(node, str(path))
        exec(compile(chosen, str(path), "exec"), module.__dict__)  # noqa: S102 - what it is for
    return module.__dict__[payload["function"]]
