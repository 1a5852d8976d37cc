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

    same_type = [c for c in cases if c.dtype == first.dtype and c.focus in ("M", "N", "K")]
    # The first of each: it differs from the plain case in one dimension alone.
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
    judge: Callable[[list[Run]], list[Evidence]],
) -> list[Evidence]:
    """Runs all of it for a kernel that `first` shows to be autotuned. Evidence of every run.

    The runs of one config, and of one way of tuning, share a check: it is the first failure's.
    """
    configs = min(first.tuner.configs, MAX_CONFIGS)
    groups = []
    for number, runs in enumerate(each_config(cases, wanted, configs), start=2):
        groups.append((f"config {number} of {first.tuner.configs}", runs))
    groups += tuning(cases, configs, first.tuner.prunes)
    found = iter(judge([run for _, runs in groups for run in runs]))
    gathered = []
    for name, runs in groups:
        evidence = [next(found) for _ in runs]
        shown = next((e for e in evidence if e.failed), evidence[0] if evidence else None)
        for e in evidence:
            if e.failed:
                e.check.message = f"{_subject(name, e)}: {e.check.name}: {e.check.message}"
            e.check.name = name
            e.shown = e is shown
        gathered += evidence
    return gathered


def _subject(name: str, e: Evidence) -> str:
    """ "Config 3 of 6 (BLOCK_M=32, …) is wrong", or what was done when it was wrong."""
    chosen = f" ({e.tuner.chosen})" if e.tuner else ""
    if e.tuning == "config":
        return f"{name[0].upper()}{name[1:]}{chosen} is wrong"
    return f"Wrong when {name}{chosen}"
