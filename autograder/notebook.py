"""`check`, the one function that an exercise notebook calls.

Takes the function's source from the notebook's own history (or from its file), and grades it like
a submission. Importing this module turns on Triton's interpreter where no GPU is found. Must never
raise for anything a learner's code does, and never run that code in this process.
"""

import atexit
import inspect
import os
import secrets
import sys
from pathlib import Path

from autograder import choices, course, grading
from autograder.gpu import has_gpu
from autograder.report import notebook as report
from autograder.result import StepResult
from autograder.sandbox import Sandbox, WorkerError
from autograder.submission import BadInput, Submission, numbered_cell, read

_sandbox: Sandbox | None = None


def check(function) -> None:
    """Grades one step, such as `check(triton_matmul)`, and shows the result below the cell."""
    name = function if isinstance(function, str) else getattr(function, "__name__", "")
    step = course.find_step(name)
    if step is None:
        known = ", ".join(s.name for s in course.STEPS)
        print(f"check: {name or function!r} is not a step of the course. The steps are: {known}.")
        return
    try:
        result = _grade(choices.load().applied(step), _submission(function))
    except (BadInput, WorkerError) as error:
        print(f"check: {error}")
        return
    except KeyboardInterrupt:
        _replace_worker()  # it may be waiting for what was interrupted
        raise
    report.show(result)


def _grade(step: course.Step, submission: Submission) -> StepResult:
    settings = grading.Settings(secrets.randbelow(2**31))
    with report.progress() as progress:
        return grading.grade_step(submission, step, _worker(), settings, progress)


def _worker() -> Sandbox:
    """One worker for the session, started when this module is imported: checks then take a second."""
    global _sandbox
    if _sandbox is None:
        _sandbox = Sandbox()
        atexit.register(_sandbox.close)
    return _sandbox


def _replace_worker() -> None:
    global _sandbox
    if _sandbox is not None:
        atexit.unregister(_sandbox.close)
        _sandbox.close()
        _sandbox = None
        _worker()


def _submission(function) -> Submission:
    """The code that a function comes from: the notebook's history, or the file it is in."""
    shell = _shell()
    if shell is not None and (isinstance(function, str) or function.__module__ == "__main__"):
        history = shell.history_manager.input_hist_raw
        cells = [numbered_cell(i, text, f"cell [{i}]") for i, text in enumerate(history) if text]
        return _latest(Submission.from_cells(Path("notebook"), cells))
    try:
        return read(Path(inspect.getsourcefile(function)))
    except TypeError:
        raise BadInput(f"the source of {function!r} cannot be found") from None


def _latest(submission: Submission) -> Submission:
    """Without cells that were run again later: all that they bind is bound anew."""
    kept: list = []
    bound: set[str] = set()
    for cell in reversed(submission.cells):
        names = {n for s in submission.statements if s.cell is cell for n in s.binds}
        if not names or not names <= bound:
            kept.append(cell)
        bound |= names
    kept.reverse()
    return Submission.from_cells(submission.path, kept)


def _shell():
    """The running IPython shell, or None in plain Python."""
    if "IPython" not in sys.modules:
        return None
    return sys.modules["IPython"].get_ipython()


def _set_up() -> None:
    """Turns on the interpreter without a GPU, and says so."""
    if has_gpu() or os.environ.get("TRITON_INTERPRET") == "1":
        return
    if "triton" in sys.modules:
        print(
            "autograder: no GPU found, and Triton was imported before autograder, so that kernels "
            "cannot run in this session. Restart it and import autograder first. check() works."
        )
        return
    os.environ["TRITON_INTERPRET"] = "1"
    print("autograder: no GPU found; kernels run on the CPU, in Triton's interpreter.")


_set_up()
try:
    _worker()
except OSError:
    pass  # `check` tries again and reports it
