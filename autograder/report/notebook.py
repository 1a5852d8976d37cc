"""Results below a notebook cell, and a line that counts while it runs. Must never decide a verdict,
only show it.
"""

import html
import time
from collections.abc import Iterator
from contextlib import contextmanager

from autograder.report import terminal
from autograder.report.fragment import step_html
from autograder.result import StepResult

UPDATE_SECONDS = 0.2


class Report:
    """What IPython displays: HTML, with plain text for terminals and logs."""

    def __init__(self, step: StepResult):
        self.step = step

    def _repr_html_(self) -> str:
        return step_html(self.step)

    def __repr__(self) -> str:
        return terminal.step_text(self.step)


def show(step: StepResult) -> None:
    """Shows the result below the cell, or on the terminal where there is no notebook."""
    try:
        from IPython.display import display
    except ImportError:
        print(Report(step))
        return
    display(Report(step))


@contextmanager
def progress() -> Iterator:
    """A line that counts the cases and disappears; yields a function of step, done, total."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        yield lambda step, done, total: None
        return
    if get_ipython() is None:
        yield lambda step, done, total: None
        return

    def line(text: str) -> dict[str, str]:
        return {"text/html": f"<i>{html.escape(text)}</i>" if text else "", "text/plain": text}

    shown = display(line("grading …"), raw=True, display_id=True)
    last = time.monotonic()

    def advance(step: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > UPDATE_SECONDS:
            last = now
            shown.update(line(f"grading {step}: {done} of {total} cases"), raw=True)

    try:
        yield advance
    finally:
        shown.update(line(""), raw=True)
