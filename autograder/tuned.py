"""Grades an autotuned kernel: every config by itself, then the tuning.

A tuner picks one config by the clock, so a grader that lets it choose sees one of them. Here each
runs alone on the cases where configs differ. Then the function tunes as it would on a GPU, is
called again, and is called after calls of other shapes and of another type in the same process.
Must never decide a case: it says what to run and gathers what came out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from autograder.steps.case import Case
from autograder.verdict import Evidence

MAX_CONFIGS = 24  # graded; a note tells of the others
# The first case with one of them as its focus differs from the plain case in that alone.
DIMENSIONS = ("M", "N", "K")


@dataclass(frozen=True)
class Run:
    """One run of a case. `config`, `winner` and `rehearse` as in worker/tuning.py.

    `before` are the cases that the same process runs first; `tuning` as in Evidence.
    """

    case: Case
    config: int | None = 0
    winner: int = 0
    rehearse: bool = False
    before: tuple[Case, ...] = ()
    tuning: str = "config"


def each_config(cases: list[Case], wanted: frozenset[str], configs: int) -> list[list[Run]]:
    """For every config but the first, which the whole battery has used: its runs."""
    chosen = [case for case in cases if not wanted or case.name in wanted]
    return [[Run(case, config) for case in chosen] for config in range(1, configs)]


def tuning(cases: list[Case], configs: int, prunes: bool) -> list[tuple[str, list[Run]]]:
    """What to run while it tunes: (name of the check, runs)."""
    first = cases[0]

    def after(case: Case, earlier: Case, winner: int = 0) -> Run:
        return Run(case, None, winner, before=(earlier,), tuning="after")

    same_type = [c for c in cases if c.dtype == first.dtype and c.focus in DIMENSIONS]
    shapes = list({c.focus: c for c in reversed(same_type)}.values())[::-1]
    # Only a kernel that prunes by shape can be wrong by the config of another shape.
    winners = range(configs) if prunes else (0,)
    others = [after(case, first, winner) for case in shapes for winner in winners]
    others += [after(first, case) for case in shapes[:1]]
    types = [after(c, first) for c in cases if c.dtype != first.dtype][:1]
    again = Run(first, None, before=(first,), tuning="again")
    return [
        ("tuned", [Run(first, None, rehearse=True, tuning="tuning")]),
        ("tuned, second call", [again]),
        ("tuned, after another shape", others),
        ("tuned, after another type", types),
    ]


def run_all(
    cases: list[Case],
    wanted: frozenset[str],
    first: Evidence,
    judge: Callable[[list[list[Run]]], list[list[Evidence]]],
) -> list[Evidence]:
    """Runs all of it for a kernel that `first` shows to be autotuned. Evidence of every run.

    The runs of one config, and of one way of tuning, share a check: it is the first failure's.
    `judge` runs groups side by side, each up to its first failure.
    """
    configs = min(first.tuner.configs, MAX_CONFIGS)
    groups = []
    for number, runs in enumerate(each_config(cases, wanted, configs), start=2):
        groups.append((f"config {number} of {first.tuner.configs}", runs))
    groups += tuning(cases, configs, first.tuner.prunes)
    groups = [(name, runs) for name, runs in groups if runs]
    gathered = []
    for (name, _), evidence in zip(groups, judge([runs for _, runs in groups])):
        shown = evidence[-1] if evidence[-1].failed else evidence[0]
        if shown.failed:
            text = f"{_subject(name, shown)}: {shown.check.name}: {shown.check.message}"
            shown.check.message = text
        for e in evidence:
            e.check.name = name
            e.shown = e is shown
        gathered += evidence
    return gathered


def notes(evidence: list[Evidence]) -> list[str]:
    """What the runs of a tuned kernel tell beside right and wrong: configs left out, and dimensions
    that its key does not know."""
    first, found = evidence[0].tuner, []
    if first and first.configs > MAX_CONFIGS:
        found.append(f"Only the first {MAX_CONFIGS} of {first.configs} configs ran.")
    after = [e for e in evidence if e.tuning == "after" and e.tuner and not e.tuner.measured]
    unknown = [name for name in DIMENSIONS if any(e.case.focus == name for e in after)]
    if unknown:
        found.append(
            f"After a call with another {' and with another '.join(unknown)} your tuner did not "
            "measure again: its key does not tell such shapes apart, so they share a config."
        )
    return found


def _subject(name: str, e: Evidence) -> str:
    """ "Config 3 of 6 (BLOCK_M=32, …) is wrong", or what was done when it was wrong."""
    chosen = f" ({e.tuner.chosen})" if e.tuner else ""
    if e.tuning == "config":
        return f"{name[0].upper()}{name[1:]}{chosen} is wrong"
    return f"Wrong when {name}{chosen}"
