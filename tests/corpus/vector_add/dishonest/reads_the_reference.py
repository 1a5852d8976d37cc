"""The course's own solution is read from `solutions/` and called.

Where Landlock is off the step passes: what runs is then a right kernel, and nothing in the run
says who wrote it.

step: vector_add
expect: error
needs: landlock
attack: hands in the reference without having it
"""

import importlib
import pathlib
import sys


def take(source):
    """Executes another's solution as if it were written here."""
    pathlib.Path("taken.py").write_text(source)
    sys.path.insert(0, ".")
    return importlib.import_module("taken").vector_add


def vector_add(x, y):
    course = pathlib.Path(sys.modules["autograder.worker"].__path__[0]).parents[1]
    return take((course / "solutions" / "04_first_kernels.py").read_text())(x, y)
