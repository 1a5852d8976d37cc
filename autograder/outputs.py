"""The files that options such as --json name: refused before anything is done, written at its end.

Must never let one replace a submission, or a file that the same command reads.
"""

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from autograder.files import write_whole
from autograder.submission import BadInput

CODE = (".ipynb", ".py")


def check(outputs: dict[str, Path], inputs: Iterable[Path] = (), verb: str = "graded") -> None:
    """Raises BadInput for a file that must not or cannot be written.

    `outputs` has the names of options, and `verb` says what is done with `inputs`.
    """
    taken = {path: f"is {verb}" for path in inputs}
    for name, path in outputs.items():
        reason = _unwritable(path)
        for other, what in taken.items():
            if not reason and _same(path, other):
                reason = f"this file {what}; name another one"
        if not reason and Path(os.path.realpath(path)).suffix.lower() in CODE:
            reason = "a notebook or Python file is never written; name another one"
        if reason:
            raise BadInput(f"--{name} {path}: {reason}")
        taken[path] = f"is written by --{name}"


def _unwritable(path: Path) -> str:
    """Why nothing can be written to a path, if so."""
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        return f"the folder {folder} does not exist"
    if not os.access(folder, os.W_OK):
        return f"nothing can be written into {folder}"
    try:
        ordinary = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return ""
    except OSError as error:  # such as a link that points to itself, or a name that is too long
        return f"cannot be written ({error.strerror})"
    if not ordinary:
        return "not an ordinary file"
    return "" if os.access(path, os.W_OK) else "this file is read-only; name another one"


def write(outputs: dict[str, Path], makers: dict[str, Callable[[], str]]) -> list[str]:
    """Writes every file that can be written; returns a sentence on each that cannot."""
    failed = []
    for name, path in outputs.items():
        try:
            write_whole(path, makers[name]().encode())
        except OSError as error:
            failed.append(f"--{name} {path}: cannot be written ({error.strerror})")
    return failed


def _same(a: Path, b: Path) -> bool:
    """Also through links, and on file systems that do not tell small letters from capitals."""
    # Unlike Path.resolve, realpath takes links that point to themselves.
    same_name = os.path.realpath(a) == os.path.realpath(b)
    return same_name or (a.exists() and b.exists() and a.samefile(b))
