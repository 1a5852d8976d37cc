"""The solution of somebody who is graded at the same time is read from that run's folder and called.

Where Landlock is off it finds its own cells too, when the grader runs two of its cases at once, and
calls itself until Python stops it.

step: vector_add
expect: error
needs: landlock
attack: copies from a neighbour during the grading
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
    mine = pathlib.Path.cwd()
    others = [run for run in mine.parent.iterdir() if run != mine]
    cells = [cell for run in others for cell in run.glob("*.py")]
    return take(cells[0].read_text())(x, y)
