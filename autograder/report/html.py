"""A whole grading as one HTML file that needs nothing else: no script, no request.

A summary, a table of contents, and a part for every submission that stays closed until it is
opened or printed. Everything that a submission chose is escaped. Must never decide a verdict, only
show it.
"""

from collections.abc import Collection

from autograder.report.fragment import escaped, marked, step_html, verdict_mark
from autograder.report.words import command
from autograder.result import Grading, SubmissionResult

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c1e21; --line: #d5d8dc;
  --shade: #f3f4f6; --link: #0b57b0;
  --passed: #1c7a42; --wrong: #b52a2a; --refused: #8a2f9c; --unmeasured: #62666b; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #e4e6e9; --line: #3a3e44; --shade: #212429; --link: #86b8f5;
    --passed: #5ccb8c; --wrong: #ff8080; --refused: #dc94e8; --unmeasured: #a3a8ae; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 1.5rem 0 .5rem; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
code, pre { background: var(--shade); border-radius: 3px; }
code { padding: 0 .2em; }
pre { padding: .5em; }
summary { cursor: pointer; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: left;
  overflow-wrap: normal; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.path { min-width: 12rem; overflow-wrap: anywhere; }
.submission { border-top: 1px solid var(--line); padding: .4rem 0; }
.submission > summary { font-weight: 600; }
main [id] { scroll-margin-top: 4rem; }
.small { font-size: .875rem; }
@media print {
  body { max-width: none; padding: 0; }
  details::details-content { content-visibility: visible; block-size: auto; }
  figure, .submission > summary { break-inside: avoid; break-after: avoid; }
  pre { max-height: none !important; }
}
"""


def page(grading: Grading) -> str:
    """The file's text."""
    several = len(grading.submissions) > 1
    result = grading.to_json()
    passed = sum(s.passed for s in grading.submissions)
    verdict = "All checks passed" if grading.passed else "Not all checks passed"
    whole = f"{result['points']:g} of {result['max_points']:g} points"
    of = f", {passed} of {len(grading.submissions)} submissions passed" if several else ""
    parts = [f"<h1>{verdict}</h1>\n<p>{whole}{of}.</p>\n", _circumstances(grading)]
    if several:
        parts.append(_contents(grading))
    parts.append("<main>\n")
    for number, submission in enumerate(grading.submissions, 1):
        parts.append(_submission(grading, submission, number, opened=not several))
    return document(f"Grading: {whole}", "".join(parts) + "</main>\n")


def document(title: str, body: str) -> str:
    """A whole file in this look; `title` and `body` are HTML, `body` with its <main>."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Whatever an escape might miss, the browser loads and runs nothing.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )


def table(head: list[str], rows: list[list[str]], numbers: Collection[int] = ()) -> str:
    """A table that scrolls by itself where it is too wide. The rows are HTML, the head is text;
    `numbers` are the columns that stand to the right."""
    right = [' class="number"' if i in numbers else "" for i in range(len(head))]
    first = "".join(f"<th{r}>{escaped(text)}</th>" for r, text in zip(right, head))
    others = "".join(
        "<tr>" + "".join(f"<td{r}>{cell}</td>" for r, cell in zip(right, row)) + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="wide"><table class="small"><thead><tr>{first}</tr></thead>\n'
        f"<tbody>\n{others}</tbody></table></div>\n"
    )


def _circumstances(grading: Grading) -> str:
    items = [("seed", str(grading.seed)), *grading.environment.items()]
    rows = "".join(f"<tr><th>{escaped(k)}</th><td>{escaped(v)}</td></tr>" for k, v in items)
    return f'<details class="small"><summary>Seed {grading.seed}, environment</summary><table>{rows}</table></details>\n'  # fmt: skip


def _contents(grading: Grading) -> str:
    """A row for each submission, a column for each step."""
    names = list(dict.fromkeys(step.step for step in grading.steps()))
    head = "".join(f"<th>{escaped(name)}</th>" for name in names)
    rows = []
    for number, submission in enumerate(grading.submissions, 1):
        steps = {step.step: step for step in submission.steps}
        cells = "".join(
            f"<td>{marked(steps[name])} {steps[name].points:g}</td>"
            if name in steps
            else "<td></td>"
            for name in names
        )
        rows.append(
            f'<tr><td class="path"><a href="#s{number}">{_path(submission)}</a></td>'
            f'<td class="number">{verdict_mark(submission.passed)} {_points(submission)}</td>{cells}</tr>\n'
        )
    return (
        '<nav aria-labelledby="contents"><h2 id="contents">Submissions</h2><div class="wide">'
        f'<table class="small"><thead><tr><th>submission</th><th class="number">points</th>{head}'
        f"</tr></thead>\n<tbody>\n{''.join(rows)}</tbody></table></div></nav>\n<h2>Details</h2>\n"
    )


def _submission(grading: Grading, submission: SubmissionResult, number: int, opened: bool) -> str:
    # The anchor lies inside, so that a browser that follows a link to it opens the part.
    parts = [
        f'<details class="submission"{" open" if opened else ""}><summary>',
        f"{verdict_mark(submission.passed)} {_path(submission)} &nbsp; ",
        f"{_points(submission)} points</summary>",
        f'<div id="s{number}">\n',
    ]
    for step in submission.steps:
        repeat = escaped(command(grading, submission, step))
        parts.append(f'{step_html(step)}<div class="small">Repeat: <code>{repeat}</code></div>\n')
    return "".join(parts) + "</div></details>\n"


def _path(submission: SubmissionResult) -> str:
    """The path, which a narrow screen breaks after a slash rather than anywhere."""
    return escaped(submission.path).replace("/", "/<wbr>")


def _points(submission: SubmissionResult) -> str:
    points = sum(step.points for step in submission.steps)
    return f"{points:g} of {sum(step.max_points for step in submission.steps):g}"
