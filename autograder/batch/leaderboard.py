"""The best verified speed of each step on each GPU model, from result files.

Reads what `grade --json` and `batch` write. A time counts when every other check of the step passed
and the measurement was not refused; whether it reached the threshold does not matter. Must never
believe that a file is what it should be.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder import course
from autograder.report import performance
from autograder.report.fragment import escaped
from autograder.report.html import document, table
from autograder.report.words import rate, share
from autograder.submission import BadInput, check_file

PLACES = 10


@dataclass(frozen=True)
class Entry:
    """A measurement of one learner: TFLOPS or GB/s, and the share of the library in the same run."""

    step: str
    gpu: str
    who: str
    speed: float
    unit: str
    ratio: float
    shape: str
    dtype: str


def read(paths: tuple[Path, ...]) -> list[Entry]:
    """All verified measurements in result files, and in folders of them.

    Raises BadInput for a path that does not exist, a file that is no result, or a folder without one.
    """
    found: list[Entry] = []
    for path in paths:
        results = [e for e in map(_entries, files([path])) if e is not None]
        if not results and path.is_dir():
            raise BadInput(f"{path}: no result file in it")
        if not results:
            raise BadInput(f"{path}: not a result file of grade --json or of batch")
        found += [entry for entries in results for entry in entries]
    return found


def files(paths: Iterable[Path]) -> list[Path]:
    """The files that `read` looks into. Raises BadInput for a path with neither file nor folder."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*.json") if p.is_file())
        else:
            check_file(path)
            found.append(path)
    return found


def best(entries: list[Entry]) -> dict[tuple[str, str], list[Entry]]:
    """(step, GPU) → the best measurement of each learner, the fastest first, in the course's order."""
    theirs: dict[tuple[str, str, str], Entry] = {}
    for entry in entries:
        key = (entry.step, entry.gpu, entry.who)
        if key not in theirs or entry.speed > theirs[key].speed:
            theirs[key] = entry
    order = {step.name: n for n, step in enumerate(course.STEPS)}
    boards: dict[tuple[str, str], list[Entry]] = {}
    for entry in sorted(theirs.values(), key=lambda e: (order[e.step], e.gpu, -e.speed, e.who)):
        boards.setdefault((entry.step, entry.gpu), []).append(entry)
    return {key: board[:PLACES] for key, board in boards.items()}


def page(boards: dict[tuple[str, str], list[Entry]]) -> str:
    """The boards as one HTML file."""
    intro = (
        "<h1>Leaderboard</h1>\n<p>The best verified speed of each step on each GPU model: "
        "every other check of the step passed in the same grading.</p>\n<main>\n"
    )
    parts = [intro]
    if not boards:
        parts.append("<p>No result holds a verified measurement. Speed needs a GPU.</p>\n")
    for (step, gpu), board in boards.items():
        parts.append(f"<h2><code>{escaped(step)}</code> on {escaped(gpu)}</h2>\n{_table(board)}")
    return document("Leaderboard", "".join(parts) + "</main>\n")


def _table(board: list[Entry]) -> str:
    rows = [
        [
            str(place),
            escaped(e.who),
            f"{rate(e.speed)} {e.unit}",
            share(e.ratio),
            escaped(e.shape),
            escaped(e.dtype),
        ]
        for place, e in enumerate(board, 1)
    ]
    return table(["", "who", "speed", "share of the library", "shape", "type"], rows, {0, 2, 3})


# --- reading ----------------------------------------------------------------------------------


def _entries(path: Path) -> list[Entry] | None:
    """The verified measurements in a result file of `grade --json` or of batch; None for a file that
    is neither."""
    try:
        told = json.loads(path.read_bytes())
        who = told.get("student")
        grading = told["grading"] if who else told
        if grading is None:  # nothing was graded
            return []
        return [
            entry
            for submission in grading["submissions"]
            for step in submission["steps"]
            if (entry := _entry(step, who or submission["path"])) is not None
        ]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _entry(step: dict, who: str) -> Entry | None:
    measured = step["performance"]
    if measured is None or course.find_step(step["step"]) is None or not _verified(step):
        return None
    speed, ratio = performance.value(measured), measured["ratio"]
    if not (_positive(speed) and _positive(ratio)):
        return None
    return Entry(
        step["step"],
        str(measured["gpu"]),
        str(who),
        float(speed),
        performance.unit(measured),
        float(ratio),
        performance.size(measured["shape"]),
        str(measured["dtype"]),
    )


def _verified(step: dict) -> bool:
    """Every check but speed has passed, and speed was measured and not refused."""
    statuses = Counter(
        (c["kind"] == "speed", c["status"]) for c in step["checks"] if c["status"] != "not_measured"
    )
    others = {status for speed, status in statuses if not speed}
    speed = {status for speed, status in statuses if speed}
    return others == {"passed"} and bool(speed) and speed <= {"passed", "failed"}


def _positive(number) -> bool:
    return type(number) in (int, float) and math.isfinite(number) and number > 0
