"""The course's reference kernels, loaded as a worker loads a submission, to be timed.

They run in this process, since they are the course's own. Must never load anybody else's code, and
never change a kernel.
"""

import tempfile
from pathlib import Path

from autograder import course
from autograder.submission import read
from autograder.worker import loader

# Triton reads a kernel's source from its file, so the folder lives as long as the process.
_folder = tempfile.TemporaryDirectory()
_loaded = {}


def function(step: str):
    """The reference solution of a step. Raises KeyError for an unknown one."""
    if step not in _loaded:
        found = course.find_step(step)
        if found is None:
            raise KeyError(step)
        home = Path(_folder.name) / step
        home.mkdir()
        submission = read(course.ROOT / "solutions" / f"{found.folder}.py")
        _loaded[step] = loader.load(submission.payload(step), home)
    return _loaded[step]


def kernel(step: str, name: str):
    """A kernel that the reference solution of a step launches, or another name that it uses."""
    return function(step).__globals__[name]
