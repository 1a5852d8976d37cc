"""The corpora: every submission with the verdict that its header asks for, and whether it got it.

For the tests and for the programs in benchmarks/ that count verdicts. Must never judge by anything
but a header and a result.
"""

import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet

from autograder import course, grading
from autograder.result import StepResult
from autograder.sandbox import Sandbox
from autograder.submission import read

CORPUS = Path(__file__).parent / "corpus"
FIELDS = ("step", "expect", "timed", "cause", "told", "needs", "triton")
HOSTILE_SECONDS = 5.0  # for one case
END_SECONDS = 5  # for killed processes to be gone


@dataclass(frozen=True)
class Entry:
    """One corpus file. `expect` and `causes` are the alternatives that its header allows.

    `timed` stands in place of `expect` where a GPU's time is asked as well, in `clock` only. `told` is the cause that the grader names in place of these, where it is known to miss them. `needs`
    are layers of isolation of which one must be on for the file to be judged so, `triton` the versions
    of Triton that it is written for.
    """

    path: Path
    family: str  # wrong, honest, dishonest, hostile, clock
    step: str
    expect: tuple[str, ...]
    timed: tuple[str, ...]
    causes: tuple[str, ...]
    told: str
    needs: tuple[str, ...]
    triton: SpecifierSet

    @property
    def name(self) -> str:
        return f"{self.step}/{self.family}/{self.path.stem}"


@dataclass(frozen=True)
class Verdict:
    """What a grading said of a corpus file, and whether that is what the header asks for.

    `kinds` are the kinds of the checks that failed. `named` is always true outside `wrong/`.
    """

    status: str
    cause: str
    kinds: tuple[str, ...]
    expected: bool
    named: bool


def _header(path: Path) -> dict[str, str]:
    head = path.read_text(encoding="utf-8").split('"""')[1]
    fields = {}
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() in FIELDS:
            fields[key.strip()] = value.strip()
    return fields


def _alternatives(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|") if part.strip())


def entries(family: str | None = None) -> list[Entry]:
    """Every corpus file, or those of one family, in a fixed order."""
    found = []
    for path in sorted(CORPUS.glob("*/*/*.py")):
        if family in (None, path.parent.name):
            header = _header(path)
            found.append(
                Entry(
                    path,
                    path.parent.name,
                    header["step"],
                    _alternatives(header["expect"]),
                    _alternatives(header.get("timed", "")),
                    _alternatives(header.get("cause", "")),
                    header.get("told", ""),
                    _alternatives(header.get("needs", "")),
                    SpecifierSet(header.get("triton", "")),
                )
            )
    return found


def why_not_here(entry: Entry, sandbox: Sandbox) -> str:
    """Why a file cannot be judged as its header says on this machine; empty where it can."""
    version = metadata.version("triton")
    if not entry.triton.contains(version, prereleases=True):
        return f"it is written for Triton {entry.triton}, and this is {version}"
    layers = sandbox.layers()
    if entry.needs and not any(layers[name].on for name in entry.needs):
        reasons = [f"{name} is off: {layers[name].remark}" for name in entry.needs]
        return "nothing here can hinder it: " + "; ".join(reasons)
    return ""


def grade(entry: Entry, sandbox: Sandbox, seed: int) -> StepResult:
    """Grades a corpus file as the command line does; an endless one gets less time than there."""
    step = course.find_step(entry.step)
    hostile = entry.family == "hostile"
    settings = grading.Settings(seed, HOSTILE_SECONDS if hostile else grading.DEFAULT_TIMEOUT)
    return grading.grade_step(read(entry.path), step, sandbox, settings, lambda *_: None)


def verdict(entry: Entry, result: StepResult) -> Verdict:
    """A result against the header. A file that may pass gets all points, any other does not."""
    status = "passed" if result.passed else result.status
    cause = result.hint.cause if result.hint else ""
    full = result.points == result.max_points
    return Verdict(
        status,
        cause,
        tuple(sorted({check.kind for check in result.failed})),
        status in entry.expect and full == result.passed,
        cause in entry.causes if entry.family == "wrong" else True,
    )


def left_behind(sandbox: Sandbox) -> list:
    """Processes that a run left and that are still there after the moment that killing takes."""
    deadline = time.monotonic() + END_SECONDS
    while (found := sandbox.leftovers()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found
