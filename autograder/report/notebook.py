"""Results below a notebook cell: a table, the hint, and a picture of where the result is wrong.

Plain HTML with inline styles and inline SVG, no script, colours that work on light and dark: the
same in JupyterLab, VS Code and Colab. Must never decide a verdict, only show it.
"""

import html
import time
from collections.abc import Iterator
from contextlib import contextmanager

from autograder.report import terminal
from autograder.result import Check, ErrorMap, StepResult

MARKS = {"passed": ("✓", "#2e9e5b"), "not_measured": ("–", "#888888"), "refused": ("⊘", "#b04bc0")}
WRONG = ("✗", "#d64545")
KEPT_PRINTED = 4000
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


def step_html(step: StepResult) -> str:
    """The result of one step as a fragment of HTML."""
    mark, colour = MARKS["passed"] if step.passed else MARKS.get(step.status, WRONG)
    parts = [
        f'<div style="border-left:4px solid {colour};padding:2px 0 2px 12px;margin:6px 0">',
        f'<div><b><span style="color:{colour}">{mark}</span> {html.escape(step.step)}</b> &nbsp; ',
        f"{step.points:g} of {step.max_points:g} points, {step.seconds:.1f} s</div>",
    ]
    parts += [f"<div><i>{html.escape(note)}</i></div>" for note in step.notes]
    if step.hint:
        parts.append(
            f'<div style="margin:6px 0"><b>Hint</b> ({html.escape(step.hint.cause)}): '
            f"{_code(step.hint.text)} Read <code>{html.escape(step.hint.read)}</code>.</div>"
        )
    picture = next((c for c in step.checks if c.error_map), None)
    if picture:
        parts.append(_picture(picture))
    rows = "".join(_row(check) for check in step.checks)
    parts.append(
        '<div style="overflow-x:auto"><table style="font-size:90%;border-collapse:collapse">'
        f"{rows}</table></div>"
    )
    printed = next((c.printed for c in step.checks if c.printed.strip()), "")
    if printed:
        parts.append(
            "<div>Your code printed (first case that did):</div>"
            f"<pre>{html.escape(printed[:KEPT_PRINTED])}</pre>"
        )
    return "".join(parts) + "</div>"


def _row(check: Check) -> str:
    mark, colour = MARKS.get(check.status, WRONG)
    size = ", ".join(f"{k}={v}" for k, v in check.case.items())
    cell = '<td style="text-align:left;vertical-align:top;padding:1px 8px'
    return (
        f'<tr>{cell};color:{colour}">{mark}</td>{cell};white-space:nowrap">'
        f'{html.escape(check.name)}</td>{cell};opacity:.75">{html.escape(size)}</td>'
        f'{cell}">{_code(check.message)}</td></tr>'
    )


def _code(text: str) -> str:
    """Escaped text in which `this` is code."""
    pieces = html.escape(text).split("`")
    return "".join(p if i % 2 == 0 else f"<code>{p}</code>" for i, p in enumerate(pieces))


def _picture(check: Check) -> str:
    """The error map: one square per block, as red as its share of wrong elements."""
    error_map: ErrorMap = check.error_map
    side = 14
    rows, cols = len(error_map.share), len(error_map.share[0])
    squares = "".join(
        f'<rect x="{j * side}" y="{i * side}" width="{side - 1}" height="{side - 1}" '
        f'fill="{"#d64545" if share else "currentColor"}" '
        f'fill-opacity="{0.35 + 0.65 * share if share else 0.12:.2f}"/>'
        for i, row in enumerate(error_map.share)
        for j, share in enumerate(row)
    )
    label = (
        f"Where the result is wrong in the case “{check.name}”: {error_map.rows} × "
        f"{error_map.cols} elements, one square for {error_map.block} × {error_map.block}"
    )
    return (
        f'<figure style="margin:6px 0"><svg role="img" aria-label="{html.escape(label)}" '
        f'width="{cols * side}" height="{rows * side}" viewBox="0 0 {cols * side} {rows * side}" '
        f'style="max-width:100%">{squares}</svg>'
        f'<figcaption style="font-size:85%;opacity:.8">{html.escape(label)}.</figcaption></figure>'
    )
