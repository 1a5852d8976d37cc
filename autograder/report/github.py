"""A grading inside GitHub Actions: an annotation for each failed step, and a job summary.

What a submission chose is escaped, so that it can neither give commands to the runner nor change
the look of the summary. Must never decide a verdict, only show it.
"""

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autograder.report import performance
from autograder.report.cell_lines import line_in_file
from autograder.report.words import alike, command, marking_code, printable, sizes, status, worded
from autograder.result import Check, Grading, StepResult, SubmissionResult

# GitHub takes 1 MiB from each step of a job and drops all of a longer summary.
SUMMARY_BYTES = 900_000


def inside(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is a step of a GitHub Actions job."""
    return environment.get("GITHUB_ACTIONS") == "true"


@contextmanager
def commands_off() -> Iterator[None]:
    """Has the runner take no line printed meanwhile for a command: it quotes submissions."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)


# --- annotations ------------------------------------------------------------------------------


def annotations(grading: Grading) -> list[str]:
    """The lines to print: one command for each failed step, since GitHub shows only ten of them."""
    return [
        _annotation(submission, step)
        for submission in grading.submissions
        for step in submission.steps
        if not step.passed
    ]


def _annotation(submission: SubmissionResult, step: StepResult) -> str:
    check = next((c for c in step.failed if c.place), step.failed[0])
    text = f"{check.name}: {check.message}"
    if check.place and check.place not in check.message:
        text = f"{check.place}: {text}"
    if step.hint:
        text += f"\n{step.hint.text}\nRead {step.hint.read}."
    fields = {"file": _in_repository(submission.path)}
    line = _line(submission.path, check.place)
    if line:
        fields["line"] = str(line)
    fields["title"] = f"{step.step}: {status(step)}, {step.points:g} of {step.max_points:g} points"
    properties = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    return f"::error {properties}::{_data(text)}"


def _line(path: str, place: str) -> int | None:
    """The line of the file that is meant by "line 12", or in a notebook by "cell 4, line 12"."""
    found = re.fullmatch(r"(?:cell (\d+), )?line (\d+)", place)
    if found is None:
        return None
    if found[1] is None:
        return int(found[2])
    return line_in_file(Path(path), int(found[1]), int(found[2]))


def _in_repository(path: str) -> str:
    """The path as GitHub wants it: from the root of the repository, where it lies in one."""
    root = os.environ.get("GITHUB_WORKSPACE")
    if not root:
        return path
    try:
        return Path(path).resolve().relative_to(Path(root).resolve()).as_posix()
    except ValueError:
        return path


def _data(text: str) -> str:
    """Text after the last `::` of a command, as the runner decodes it."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# --- job summary ------------------------------------------------------------------------------


def append_summary(grading: Grading) -> None:
    """Adds the summary to the file that GitHub shows, where it names one. Raises OSError."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(summary(grading))


def summary(grading: Grading) -> str:
    """Markdown: a table of all steps, what was measured, what is wrong with those that failed."""
    result = grading.to_json()
    verdict = "all checks passed" if grading.passed else "not all checks passed"
    parts = [
        f"## Autograder: {verdict}, {result['points']:g} of {result['max_points']:g} points\n\n",
        "| submission | step | result | points | likely cause |\n| --- | --- | --- | ---: | --- |\n",
    ]
    steps = [(sub, step) for sub in grading.submissions for step in sub.steps]
    parts += [_row(submission, step) for submission, step in steps]
    parts.append("\n")
    parts += [_speed(submission, step) for submission, step in steps]
    parts += [_details(grading, sub, step) for sub, step in steps if not step.passed]
    where = ", ".join(f"{_text(k)} {_text(v)}" for k, v in grading.environment.items())
    return _fitting(parts, f"Seed {grading.seed}; {where}.\n\n")


def _fitting(parts: list[str], end: str) -> str:
    """As many whole parts as GitHub takes; the rest is said to be missing."""
    left = SUMMARY_BYTES - len(end.encode())
    for i, part in enumerate(parts):
        left -= len(part.encode())
        if left < 0:
            return "".join(parts[:i]) + "\n\nThe rest does not fit here.\n\n" + end
    return "".join(parts) + end


def _row(submission: SubmissionResult, step: StepResult) -> str:
    sign = "✅" if step.passed else "❌"
    cause = _text(step.hint.cause) if step.hint else ""
    return (
        f"| {_text(submission.path)} | {_text(step.step)} | {sign} {status(step)} "
        f"| {step.points:g} of {step.max_points:g} | {cause} |\n"
    )


def _speed(submission: SubmissionResult, step: StepResult) -> str:
    """What was measured, also of steps that passed."""
    told = performance.lines(step)
    if not told:
        return ""
    head = f"**{_text(step.step)} in {_text(submission.path)}**\n\n"
    return head + "".join(f"- {_text(line)}\n" for line in told) + "\n"


def _details(grading: Grading, submission: SubmissionResult, step: StepResult) -> str:
    lines = [f"### {_text(step.step)} in {_text(submission.path)}", ""]
    if step.hint:
        lines += [f"**Hint.** {_text(step.hint.text)} Read {_text(step.hint.read)}.", ""]
    lines += [f"*Note.* {_text(note)}\n" for note in step.notes]
    lines += [_item(check, others) for check, others in alike(step.failed)]
    lines += ["", f"Repeat: <code>{_escaped(command(grading, submission, step))}</code>", "", ""]
    return "\n".join(lines)


def _item(check: Check, others: str) -> str:
    size = f" ({_text(sizes(check))})" if check.case else ""
    more = f" ({_text(others)})" if others else ""
    return f"- **{worded(check.status)}** {_text(check.name)}{size}: {_text(check.message)}{more}"


def _text(text: str) -> str:
    """Words that Markdown shows as they are, on one line: no link, no HTML, no markup but code."""
    return marking_code(text, _escaped)


def _escaped(text: str) -> str:
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", re.sub(r"\s+", " ", printable(text)))
