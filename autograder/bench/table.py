"""The measured table as text: on a terminal with rich, and in Markdown for README and book.

Both show the same cells, made here from the data that `--json` writes. Must never compute a figure.
"""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from autograder.bench.plan import LIBRARY
from autograder.bench.results import BEST
from autograder.bench.shapes import GROUPS
from autograder.report.words import label, rate, share

NOT_TIMED = "–"
WIDTH_OF_FILES = 120
CLOCKS = ("share_of_library", "eager_share_of_library")
SHARES = (
    f"Each cell: TFLOPS by the GPU's own time, and the share of {LIBRARY} in the same precision."
)
MEANS = (
    f"Shares of {LIBRARY}: geometric means over the large and the small shapes; by the GPU's own time, "
    "then as a program calls it, with what the host needs."
)
FIRST_CALLS = "Seconds of all first calls: loading and, where a kernel tunes, tuning."

Grid = tuple[list[str], list[list[str]]]


def shapes(run: dict, dtype: str) -> Grid:
    """Head and rows of one precision: a row for each shape, a column for each kernel."""
    rows = [r for r in run["rows"] if r["dtype"] == dtype]
    kernels = list(dict.fromkeys(r["kernel"] for r in rows))
    found = {(tuple(r["shape"]), r["kernel"]): r for r in rows}
    body = [
        [label(shape), *(_cell(found.get((shape, kernel))) for kernel in kernels)]
        for shape in dict.fromkeys(tuple(r["shape"]) for r in rows)
    ]
    return ["M×N×K", *kernels], body


def means(run: dict) -> Grid:
    """Head and rows of the geometric means: a row for each kernel, a column for precision and group."""
    found = {
        (row["kernel"], row["dtype"], row["group"], clock): row[clock]
        for clock, rows in zip(CLOCKS, (run["geometric_means"], run["eager_geometric_means"]))
        for row in rows
    }
    # In the order of the rows; the best of each shape has none of its own and comes last.
    order = [row["kernel"] for row in run["rows"]] + [BEST]
    named = {kernel for kernel, *_ in found}
    kernels = [k for k in dict.fromkeys(order) if k in named and k != LIBRARY]
    columns = [
        (dtype, group)
        for dtype in dict.fromkeys(row["dtype"] for row in run["rows"])
        for group in GROUPS
        if any(key[1:3] == (dtype, group) for key in found)
    ]
    body = [
        [kernel, *(_pair([found.get((kernel, *c, clock)) for clock in CLOCKS]) for c in columns)]
        for kernel in kernels
    ]
    return ["kernel", *(f"{dtype}, {group}" for dtype, group in columns)], body


def first_calls(run: dict) -> Grid:
    """Head and rows of the seconds that first calls took, in all shapes of a precision together."""
    seconds: dict[tuple[str, str], float] = {}
    for row in run["rows"]:
        if row.get("first_call_s") is not None:
            key = row["kernel"], row["dtype"]
            seconds[key] = seconds.get(key, 0.0) + row["first_call_s"]
    kernels = dict.fromkeys(kernel for kernel, _ in seconds)
    dtypes = list(dict.fromkeys(dtype for _, dtype in seconds))
    body = [
        [k, *(f"{seconds[k, d]:.2f}" if (k, d) in seconds else NOT_TIMED for d in dtypes)]
        for k in kernels
    ]
    return ["kernel", *dtypes], body


def source(run: dict) -> str:
    """Where the figures come from: GPU, driver, versions, date and command."""
    on = run["environment"]
    return (
        f"{on['gpu']}, driver {on['driver']}, torch {on['torch']}, Triton {on['triton']}, "
        f"Python {on['python']}, {on['date']}, `{on['command']}`"
    )


def markdown(grid: Grid) -> str:
    """A table for README or book."""
    head, body = grid
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))


def troubles(run: dict) -> list[str]:
    """A sentence for each kernel that was not timed, with the reason."""
    return [
        f"{row['kernel']}, {row['dtype']}, {label(row['shape'])}: "
        f"{row['status']}, not timed: {row['message']}"
        for row in run["rows"]
        if row["status"] != "right"
    ]


def show(run: dict, console: Console | None = None) -> None:
    """The whole result on a terminal."""
    console = console or Console()
    if not console.is_terminal:
        console.width = WIDTH_OF_FILES
    for dtype in dict.fromkeys(row["dtype"] for row in run["rows"]):
        _print(console, shapes(run, dtype), dtype, SHARES)
    if run["geometric_means"]:
        _print(console, means(run), "geometric means", MEANS)
    compiled = f"{FIRST_CALLS} All kernels were compiled before that, in {run['compile_s']} s."
    _print(console, first_calls(run), "first calls", compiled)
    for trouble in troubles(run):
        console.print(f"[red]{escape(trouble)}[/]", highlight=False)
    for name in run["left_out"]:
        console.print(f"{name}: left out, this GPU cannot compute it", highlight=False)
    console.print(f"[dim]{escape(source(run))}; {run['total_s']} s in all[/]", highlight=False)


def _print(console: Console, grid: Grid, title: str, caption: str) -> None:
    head, body = grid
    table = Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for at, column in enumerate(head):
        # A narrow terminal breaks everything but the first column.
        table.add_column(
            column.removesuffix("_matmul"),
            justify="right" if at else "left",
            no_wrap=not at,
            overflow="fold",
        )
    for line in body:
        table.add_row(*map(escape, line))
    console.print(table)


def _cell(row: dict | None) -> str:
    if row is None:
        return NOT_TIMED
    if "ms" not in row:
        return row["status"]
    speed = rate(row["tflops"])
    of_library = row["share_of_library"]
    if row["kernel"] == LIBRARY or of_library is None:
        return speed
    return f"{speed} ({share(of_library)})"


def _pair(values: list[float | None]) -> str:
    if not any(values):
        return NOT_TIMED
    return " / ".join(NOT_TIMED if v is None else share(v) for v in values)
