"""One step as a fragment of HTML, for a notebook's output and for a page.

Inline styles and inline SVG, no script, colours that can be read on light and dark: the same in
JupyterLab, VS Code, Colab and a browser. Everything that a submission chose is escaped. Must never
decide a verdict, only show it.
"""

import html

from autograder.report import performance
from autograder.report.words import (
    alike,
    marking_code,
    printable,
    printed,
    sizes,
    status,
    titled,
    worded,
)
from autograder.result import Check, ErrorMap, Hint, StepResult

# A page sets the colours for light and dark; a notebook takes those that do for both.
MARKS = {
    "passed": ("✓", "var(--passed,#2e9e5b)"),
    "not_measured": ("–", "var(--unmeasured,#808080)"),
    "refused": ("⊘", "var(--refused,#b04bc0)"),
}
WRONG = ("✗", "var(--wrong,#d64545)")
KEPT_PRINTED = 4000
SHOWN_FAILED = 4
LEVELS = ("What was seen", "Where to look", "What to do, and what to read")
INDENT = "margin:4px 0 4px 1.2em"


def step_html(step: StepResult) -> str:
    """The result of one step: marks, hint, error map, checks, and what the code printed."""
    colour = _mark(step)[1]
    parts = [
        f'<div style="border-left:4px solid {colour};padding:2px 0 2px 12px;margin:8px 0">',
        f"<div>{marked(step)} <b>{escaped(step.step)}</b> &nbsp; ",
        f"{step.points:g} of {step.max_points:g} points, {step.seconds:.1f} s</div>",
    ]
    parts += [f"<div><i>{escaped(note)}</i></div>" for note in step.notes]
    parts.append(_speed(step))
    if step.hint:
        parts.append(_hint(step.hint))
    picture = next((c for c in step.failed if c.error_map), None)
    if picture:
        parts.append(_picture(picture.name, picture.error_map))
    parts.append(_all_failed(step.failed))
    parts += [_unmeasured(check) for check in step.checks if check.status == "not_measured"]
    parts.append(_passed([c for c in step.checks if c.status == "passed"]))
    parts.append(_printed(printed(step, KEPT_PRINTED)))
    return "".join(parts) + "</div>"


def verdict_mark(passed: bool) -> str:
    """A sign for a whole submission."""
    sign, colour = MARKS["passed"] if passed else WRONG
    return _sign(sign, colour, "passed" if passed else "not passed")


def marked(step: StepResult) -> str:
    """A sign for a step."""
    return _sign(*_mark(step), status(step))


def _mark(step: StepResult) -> tuple[str, str]:
    return MARKS["passed"] if step.passed else MARKS.get(step.status, WRONG)


def _sign(sign: str, colour: str, meaning: str) -> str:
    """A coloured sign, with its meaning for those who do not see it."""
    return (
        f'<span role="img" aria-label="{meaning}" title="{meaning}" style="color:{colour}">'
        f"{sign}</span>"
    )


def escaped(text: str) -> str:
    """Text that a submission may have chosen, harmless in an element or a quoted attribute."""
    return html.escape(printable(text))


def with_code(text: str) -> str:
    """Escaped text in which `this` is code."""
    return marking_code(text, escaped)


def _speed(step: StepResult) -> str:
    """What was measured, in words and on the roofline."""
    found = performance.measured(step)
    if found is None:
        return ""
    first, *others = performance.lines(step)
    rows = [f"<div><b>{escaped(first)}</b></div>"]
    rows += [f'<div style="font-size:85%;opacity:.8">{escaped(line)}</div>' for line in others]
    drawn = performance.svg(found)
    if drawn:
        rows.append(f'<figure style="margin:6px 0">{drawn}</figure>')
    return f'<div style="margin:6px 0;overflow-wrap:anywhere">{"".join(rows)}</div>'


def _hint(hint: Hint) -> str:
    """The levels one inside the other: the first is open, the next is one click away."""
    known = [(title, text) for title, text in zip(LEVELS, hint.steps) if text]
    inner = f"<div>Cause: <code>{escaped(hint.cause)}</code></div>"
    for depth in reversed(range(len(known))):
        title, text = known[depth]
        opened = ' open style="margin:6px 0"' if depth == 0 else f' style="{INDENT}"'
        title = f"<b>Hint.</b> {title}" if depth == 0 else title
        inner = (
            f"<details{opened}><summary>{title}</summary>"
            f'<div style="{INDENT}">{with_code(text)}</div>{inner}</details>'
        )
    return inner


def _all_failed(checks: list[Check]) -> str:
    """The first ones, the others one click away."""
    told = [_failed(check, others) for check, others in alike(checks)]
    first, others = "".join(told[:SHOWN_FAILED]), told[SHOWN_FAILED:]
    if not others:
        return first
    more = "".join(others)
    return f'{first}<details style="margin:3px 0"><summary>{len(others)} more</summary>{more}</details>'


def _failed(check: Check, others: str) -> str:
    sign, colour = MARKS.get(check.status, WRONG)
    size = f' <span style="opacity:.75">({escaped(sizes(check))})</span>' if check.case else ""
    more = f' <span style="opacity:.75">({escaped(others)})</span>' if others else ""
    return (
        '<div style="margin:3px 0;overflow-wrap:anywhere">'
        f'<b><span style="color:{colour}">{sign}</span> {worded(check.status)}</b> <b>{escaped(check.name)}</b>{size}: '
        f"{with_code(check.message)}{more}</div>"
    )


def _unmeasured(check: Check) -> str:
    sign, colour = MARKS["not_measured"]
    return (
        f'<div style="margin:3px 0"><b><span style="color:{colour}">{sign}</span> not measured</b> '
        f"<b>{escaped(check.name)}</b>: {with_code(check.message)}</div>"
    )


def _passed(checks: list[Check]) -> str:
    if not checks:
        return ""
    count = f"{len(checks)} checks" if len(checks) > 1 else "1 check"
    rows = "".join(f"<li>{escaped(titled(c))}</li>" for c in checks)
    return (
        f'<details style="margin:3px 0"><summary>{count} passed</summary>'
        f'<ul style="margin:2px 0">{rows}</ul></details>'
    )


def _printed(text: str) -> str:
    if not text:
        return ""
    return (
        '<div style="margin:6px 0 0">Your code printed (first case that did):</div>'
        f'<pre style="margin:2px 0;max-height:20em;overflow:auto;white-space:pre-wrap;'
        f'overflow-wrap:anywhere">{escaped(text)}</pre>'
    )


def _picture(name: str, error_map: ErrorMap) -> str:
    """The error map: one square per block, as red as its share of wrong elements."""
    rows, cols = len(error_map.share), len(error_map.share[0])
    # One path for each shade: a page holds hundreds of these maps.
    shades: dict[float, list[str]] = {}
    for i, row in enumerate(error_map.share):
        for j, share in enumerate(row):
            shade = 0 if share == 0 else max(0.25, round(share * 4) / 4)
            shades.setdefault(shade, []).append(f"M{j} {i}h.93v.93h-.93z")
    paths = "".join(
        f'<path style="fill:{WRONG[1] if shade else "currentColor"}" '
        f'fill-opacity="{0.4 + 0.6 * shade if shade else 0.15:.2f}" d="{"".join(squares)}"/>'
        for shade, squares in sorted(shades.items())
    )
    wrong = sum(share > 0 for row in error_map.share for share in row)
    block = error_map.block
    area = f"{block} × {block}" if error_map.rows > 1 else f"{block} elements"
    label = (
        f"Where the result is wrong in the case “{escaped(name)}”: {error_map.rows} × "
        f"{error_map.cols} elements, one square for {area}; "
        f"{wrong} of {rows * cols} squares hold wrong elements"
    )
    side = 14
    return (
        f'<figure style="margin:6px 0"><svg role="img" aria-label="{label}" '
        f'width="{cols * side}" height="{rows * side}" viewBox="0 0 {cols} {rows}" '
        f'style="max-width:100%;height:auto">{paths}</svg>'
        f'<figcaption style="font-size:85%;opacity:.8">{label}.</figcaption></figure>'
    )
