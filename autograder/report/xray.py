"""`xray` on a terminal, with rich: a table per step, what to change, and the code where asked.

Must never decide anything, only show it.
"""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder import inspection, xray
from autograder.inspection import View
from autograder.submission import Submission
from autograder.xray import StepXray


def show(submission: Submission, found: list[StepXray], listings: tuple[str, ...]) -> None:
    """Everything that `xray` prints."""
    console = Console()
    console.print(Text(str(submission.path), style="bold"))
    for step_xray in found:
        _show_step(console, submission, step_xray, listings)


def _show_step(console: Console, submission, found: StepXray, listings) -> None:
    if not found.step.task.kernel:
        plain = ", plain Python: there is no kernel to look at"
        console.print(Text.assemble((found.step.name, "bold cyan"), plain))
        return
    size = ", ".join(f"{k}={v}" for k, v in found.size.items())
    console.print(Text.assemble((found.step.name, "bold cyan"), f", compiled for {size}"))
    views = [view for c in found.compilations for view in inspection.views(c)]
    if views:
        console.print(_table(views))
    for compilation in found.compilations:
        message = xray.message(compilation, submission)
        if message:
            style = "yellow" if xray.status(compilation) == "not_judged" else "red"
            console.print(Text.assemble((compilation.target.name, f"bold {style}"), f"  {message}"))
    advice: dict[str, list[str]] = {}
    for view in views:
        if view.kernel.shared <= view.target.shared_block:  # else the message above says it
            advice.setdefault(view.advice, []).append(f"{view.target.name} {view.kernel.name}")
    for text, names in advice.items():
        console.print(Text.assemble((", ".join(names), "bold"), f"  {text}"))
    for view in views:
        for kind in listings:
            _show_code(console, submission, view, kind)
    console.print()


def _table(views: list[View]) -> Table:
    """Facts as rows, a column for each kernel on each GPU."""
    table = Table()
    table.add_column("")
    for view in views:
        constants = " ".join(f"{k}={v}" for k, v in view.kernel.constants.items())
        head = f"{view.target.name} ({view.target.gpus})\n{view.kernel.name}\n{constants}"
        table.add_column(head, overflow="fold")
    for name, cell in ROWS:
        table.add_row(name, *map(cell, views))
    return table


def _widths(counts: dict[int, int]) -> str:
    return ", ".join(f"{n} × {width} B" for width, n in sorted(counts.items(), reverse=True)) or "-"


def _shared(view: View) -> Text:
    text = f"{view.kernel.shared:,} of {view.target.shared_block:,} B"
    return Text(text, style="red" if view.kernel.shared > view.target.shared_block else "")


def _spills(view: View) -> Text:
    kernel = view.kernel
    if not kernel.spill_stores + kernel.spill_loads + kernel.stack:
        return Text("none")
    text = f"{kernel.spill_stores} B out, {kernel.spill_loads} B in; stack {kernel.stack} B"
    return Text(text, style="red")


def _occupancy(view: View) -> str:
    programs = view.occupancy.programs
    unit = "compute unit" if view.target.backend == "hip" else "SM"
    return (
        f"{programs} program{'' if programs == 1 else 's'} per {unit}, "
        f"{view.occupancy.percent:.3g}%\nlimited by {view.occupancy.limit}"
    )


def _copies(view: View) -> str:
    parts = [_widths(view.async_copies)] if view.async_copies else []
    parts += [f"{view.tma} × TMA"] if view.tma else []
    return ", ".join(parts) or "-"


ROWS = (
    ("warps, stages", lambda v: f"{v.kernel.warps}, {v.kernel.stages}"),
    ("registers per thread", lambda v: str(v.kernel.registers)),
    ("spills", _spills),
    ("shared memory", _shared),
    ("occupancy", _occupancy),
    ("tensor cores", lambda v: "\n".join(f"{n} × {k}" for k, n in v.tensor_core.items()) or "-"),
    ("global loads", lambda v: _widths(v.loads)),
    ("async copies", _copies),
    ("global stores", lambda v: _widths(v.stores)),
)


def _show_code(console: Console, submission: Submission, view: View, kind: str) -> None:
    console.rule(f"{view.target.name} {view.kernel.name} {kind.upper()}", align="left")
    text = view.kernel.listings.get(kind, "")
    if not text:
        console.print(f"{view.target.name} has no {kind.upper()} here: {_why_no_code(view, kind)}")
        return
    console.print(
        xray.listing(text, submission), markup=False, highlight=False, soft_wrap=True, emoji=False
    )


def _why_no_code(view: View, kind: str) -> str:
    if view.target.backend == "hip":
        return "AMD's compiler has no such intermediate code; --sass shows the assembly."
    return "Triton's nvdisasm is missing or does not know this GPU."
