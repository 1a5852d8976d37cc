"""The graded folder is found through the grader's working folder, and a right file in it is called.

Where Landlock and namespaces are off the step passes: what runs is then a right kernel.

step: vector_add
expect: error
needs: landlock
attack: copies the notebook of another student
"""

import importlib
import os
import pathlib
import sys


def take(source):
    """Executes another's solution as if it were written here."""
    pathlib.Path("taken.py").write_text(source)
    sys.path.insert(0, ".")
    return importlib.import_module("taken").vector_add


def above():
    """The processes above this one, as the machine counts them."""
    pid = os.readlink("/proc/self")
    while int(pid) > 1:
        yield pid
        pid = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]


def vector_add(x, y):
    for pid in above():
        try:
            files = sorted(pathlib.Path(f"/proc/{pid}/cwd/tests").rglob("vector_add/honest/*.py"))
            return take(files[0].read_text())(x, y)
        except (OSError, IndexError):
            continue
    raise PermissionError("nobody's folder can be read")
