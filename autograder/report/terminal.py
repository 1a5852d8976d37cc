"""Results on a terminal, with rich. Must never decide a verdict, only show it."""

import io
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.report import performance
from autograder.report.words import alike, printable, printed, titled, worded
from autograder.result import Check, ErrorMap, Grading, StepResult

STYLES = {
    "passed": "green",
    "not_measured": "dim",
    "failed": "red",
    "error": "red",
    "crashed": "red",
    "timed_out": "red",
    "refused": "magenta",
}
SHADES = " ░▒▓█"
KEPT_PRINTED = 2000


@contextmanager
def progress() -> Iterator:
    """A bar on stderr while a grading runs; yields a function of step, done, total."""
    bar = _bar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    tasks: dict[str, int] = {}

    def advance(step: str, done: int, total: int) -> None:
        if step not in tasks or done == 0:
            tasks[step] = bar.add_task(step)
        bar.update(tasks[step], completed=done, total=total, visible=done < total)

    with bar:
        yield advance


@contextmanager
def class_progress(total: int) -> Iterator:
    """A bar on stderr while a class is graded; yields a function of what was just done."""
    columns = (TextColumn("submissions"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with _bar(*columns, TextColumn("{task.description}", markup=False)) as bar:
        task = bar.add_task("", total=total)
        yield lambda text: bar.update(task, advance=1, description=printable(text))


def _bar(*columns) -> Progress:
    """Nothing at all where stderr is no terminal: rich would leave an empty line there."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_interactive)


def show(grading: Grading) -> None:
    """The whole result: a table per submission, then what failed and why."""
    console = Console()
    for submission in grading.submissions:
        console.print(Text(printable(submission.path), style="bold"))
        for step in submission.steps:
            console.print(_step(step))
    result = grading.to_json()
    verdict = "[green]all checks passed[/]" if grading.passed else "[red]not all checks passed[/]"
    console.print(f"{verdict}: {result['points']:g} of {result['max_points']:g} points")
    where = ", ".join(f"{k} {v}" for k, v in grading.environment.items() if k != "device")
    console.print(
        f"[dim]on {grading.environment['device']}; {where}; repeat with --seed {grading.seed}[/]",
        highlight=False,
    )


def step_text(step: StepResult) -> str:
    """One step as plain text, for logs and for notebooks that show no HTML."""
    # In a notebook rich would otherwise show the text by itself, too, and with escape sequences.
    console = Console(
        width=100,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        file=io.StringIO(),
    )
    console.print(_step(step))
    return console.file.getvalue()


def _step(step: StepResult) -> Panel:
    parts: list = [_counts(step)]
    parts += [Text(printable(line)) for line in performance.lines(step)]
    parts += [Text(f"note: {printable(note)}", style="yellow") for note in step.notes]
    shown_map = False
    for check, others in alike(step.failed):
        parts.append(_check(check))
        if others:
            parts.append(Text(f"       {printable(others)}", style="dim"))
        if check.error_map and not shown_map and check.error_map.rows > 1:
            parts.append(_map(check.error_map))
            shown_map = True
    if step.hint:
        parts.append(Text.assemble(("hint  ", "bold cyan"), printable(step.hint.text)))
        parts.append(Text(f"      cause: {step.hint.cause}; read {step.hint.read}", style="dim"))
    text = printed(step, KEPT_PRINTED)
    if text:
        parts.append(Text("your code printed (first case that did):", style="dim"))
        parts.append(Text(text))
    style = "green" if step.passed else STYLES[step.status]
    title = f"[bold]{step.step}[/] {step.points:g}/{step.max_points:g} points"
    return Panel(Group(*parts), title=title, title_align="left", border_style=style)


def _counts(step: StepResult) -> Text:
    counted = [c for c in step.checks if c.status != "not_measured"]
    good = sum(c.status == "passed" for c in counted)
    text = f"{good} of {len(counted)} checks passed in {step.seconds:.1f} s"
    for check in step.checks:
        if check.status == "not_measured":
            text += f"; {check.name} not measured ({check.message.partition(';')[0]})"
    return Text(text)


def _check(check: Check) -> Text:
    return Text.assemble(
        (worded(check.status), f"bold {STYLES[check.status]}"),
        printable(f"  {titled(check)}: "),
        printable(check.message),
    )


def _map(error_map: ErrorMap) -> Text:
    lines = [f"where it is wrong (a mark is a block of {error_map.block}×{error_map.block}):"]
    for row in error_map.share:
        marks = [SHADES[0 if s == 0 else min(4, 1 + int(s * 3.99))] for s in row]
        lines.append("      │" + "".join(m * 2 for m in marks) + "│")
    return Text("\n".join(lines), style="red")


def show_steps(steps, deadlines) -> None:
    """The table of `list`, and below it when the chapters are due, where that is chosen."""
    table = Table()
    for column, justify in (("chapter", "left"), ("step", "left"), ("points", "right"), ("speed", "left")):  # fmt: skip
        table.add_column(column, justify=justify)
    for step in steps:
        table.add_row(
            step.folder, step.name, f"{step.points:g}", "counts on a GPU" if step.speed else "-"
        )
    console = Console()
    console.print(table)
    for chapter, due in sorted(deadlines.items()):
        console.print(f"chapter {chapter} is due {due:%Y-%m-%d %H:%M %Z}", highlight=False)


def show_findings(findings) -> None:
    """The lines of `doctor`."""
    console = Console()
    for finding in findings:
        mark = "[green]✓[/]" if finding.ok else ("[red]✗[/]" if finding.needed else "[yellow]–[/]")
        console.print(f"{mark} {finding.what:12} {escape(finding.text)}", highlight=False)
