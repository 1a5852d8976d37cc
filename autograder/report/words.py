"""What several reports say in the same words. Must never decide a verdict, only word it."""

import re
import shlex
from collections.abc import Callable, Iterable

from autograder.result import Check, Grading, StepResult, SubmissionResult

# What may not stand in XML and would steer a terminal: control characters but tab and new line,
# halves of surrogate pairs, and two code points that are no characters. A whole escape sequence
# goes first, so that no "[31m" is left of it.
UNPRINTABLE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\r(?=\n)|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """The text without what a report cannot hold. A submission chose most of these characters."""
    return UNPRINTABLE.sub("", text)


def sizes(check: Check) -> str:
    """ "M=37, K=41, dtype=float16": the case of a check, or nothing."""
    return ", ".join(f"{name}={value}" for name, value in check.case.items())


def titled(check: Check) -> str:
    """The name of a check with the size of its case."""
    return f"{check.name} ({sizes(check)})" if check.case else check.name


def alike(checks: Iterable[Check]) -> list[tuple[Check, str]]:
    """Checks that say the same told once: the first of them, and "the same in 2 more: a, b"."""
    groups: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        groups.setdefault((check.status, check.message), []).append(check)
    return [(first, _the_same(others)) for first, *others in groups.values()]


def _the_same(others: list[Check]) -> str:
    names = ", ".join(f"“{check.name}”" for check in others)
    return f"the same in {len(others)} more: {names}" if others else ""


def status(step: StepResult) -> str:
    """The status of a step in words. A step whose speed alone is not measured has passed."""
    return "passed" if step.passed else worded(step.status)


def worded(status: str) -> str:
    return status.replace("_", " ")


def marking_code(text: str, escape: Callable[[str], str]) -> str:
    """Text for HTML or Markdown in which `this` is code, everything escaped by `escape`."""
    pieces = [escape(piece) for piece in text.split("`")]
    if len(pieces) % 2 == 0:  # a backtick without its fellow
        return escape("`").join(pieces)
    return "".join(p if i % 2 == 0 else f"<code>{p}</code>" for i, p in enumerate(pieces))


def label(shape: Iterable[int]) -> str:
    """ "4096³" for the product of two squares, else "8×4096×4096"."""
    M, N, K = shape
    return f"{M}³" if M == N == K else f"{M}×{N}×{K}"


def rate(value: float) -> str:
    """ "3,648", "97.4" or "0.92": a measured TFLOPS or GB/s in the digits that it is worth."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def share(value: float) -> str:
    """ "0.63": a share of the library's speed."""
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def printed(step: StepResult, most: int) -> str:
    """What the code printed in the first case that did, cut after `most` characters."""
    return cut(next((c.printed for c in step.checks if c.printed.strip()), ""), most)


def cut(text: str, most: int) -> str:
    """The printable text without its last empty lines, and at most so many characters of it."""
    text = printable(text).rstrip()
    return text if len(text) <= most else f"{text[:most]}\n… (cut: {len(text) - most} more)"


def command(grading: Grading, submission: SubmissionResult, step: StepResult | None = None) -> str:
    """The command that repeats a grading with the same cases."""
    words = ["python", "-m", "autograder", "grade", submission.path, "--seed", str(grading.seed)]
    if step is not None:
        words += ["--step", step.step]
    return printable(shlex.join(words))
