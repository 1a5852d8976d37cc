"""Grades submissions: from a path to a result, one room after the other.

submission → cases of the step → arena → sandbox → verdict → diagnosis → result, with a look by the
compiler beside the cases. Must never decide a case itself, and never let what a submission does end the grading.
"""

import ast
import difflib
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from autograder import calls, choices, compile_check, course, diagnosis, inspection, tuned
from autograder.arena import Arena
from autograder.compile_check import Compilation
from autograder.result import Check, Hint, StepResult, SubmissionResult
from autograder.sandbox import Outcome, Sandbox
from autograder.speed import lock
from autograder.steps.calls import CallCase, CallTask
from autograder.steps.case import Case
from autograder.submission import BadInput, Submission, check_path
from autograder.targets import DEFAULT, TARGETS
from autograder.verdict import Evidence, Judge

DEFAULT_TIMEOUT = 10.0  # seconds for one case
GPU_START = 50.0  # seconds more, on a GPU: to start a context there and to compile
# Ends after which the other cases would only cost the same time again.
HOPELESS = ("timed_out", "crashed", "refused")
WASTEFUL = 1.2  # times the bytes needed, from which a note says so


@dataclass(frozen=True)
class Settings:
    """What a grading may be told: the seed, how long one case may run, whether speed is asked, how
    many cases may run side by side, where it does not have the machine to itself, and shares of the
    library's speed, by step, that go before those of the class and of the course."""

    seed: int
    timeout: float = DEFAULT_TIMEOUT
    speed: bool = True
    at_once: int | None = None
    thresholds: dict[str, float] = field(default_factory=dict)


def steps_of(submission: Submission, wanted: tuple[str, ...] = ()) -> list[course.Step]:
    """The steps to grade, with their points in this class: those named, or all that the submission
    defines.

    Raises BadInput when there is none, and for a `course.toml` that cannot be used.
    """
    chosen = choices.load()
    if wanted:
        return [chosen.applied(course.find_step(name)) for name in wanted]
    defined = submission.functions()
    text = [cell.source for cell, _ in submission.broken]
    found = [
        chosen.applied(step)
        for step in course.STEPS
        if step.name in defined or any(f"def {step.name}(" in source for source in text)
    ]
    if not found:
        nodes = [statement.node for statement in submission.statements]
        meant = choices.step_meant(*(n.name for n in nodes if isinstance(n, ast.FunctionDef)))
        raise BadInput(f"{submission.path}: defines no step of the course{meant}")
    return found


def grade_submission(
    submission: Submission,
    steps: list[course.Step],
    sandbox: Sandbox,
    settings: Settings,
    progress: Callable[[str, int, int], None] = lambda step, done, total: None,
) -> SubmissionResult:
    """Grades the steps of one submission; `progress` hears step name, cases done, cases in all."""
    results = [grade_step(submission, step, sandbox, settings, progress) for step in steps]
    return SubmissionResult(str(submission.path), results)


def grade_step(submission, step, sandbox, settings, progress) -> StepResult:
    """Grades one step. Whatever the submission does ends up in the result."""
    started = time.monotonic()
    result = StepResult(step.name, step.points, 0.0, [], notes=submission.notes_for(step.name))
    trouble = submission.syntax_error_for(step.name)
    if step.name not in submission.functions():
        text = trouble or _not_defined(step.name, submission)
        status = "error" if trouble else "failed"
        place = trouble.partition(":")[0] if trouble else ""  # "line 4: this is not valid Python"
        result.checks = [Check("defined", "correctness", status, text, place=place)]
        result.hint = diagnosis.hint_for("not_python" if trouble else "not_defined", step)
    else:
        if trouble:
            result.notes.append(f"{trouble} That cell was left out.")
        grade = _grade_calls if isinstance(step.task, CallTask) else _grade_tensors
        grade(result, submission, step, sandbox, settings, progress)
    if step.speed and settings.speed:
        _grade_speed(result, submission, step, sandbox, settings, progress)
    result.seconds = time.monotonic() - started
    return result


def _not_defined(name: str, submission: Submission) -> str:
    near = difflib.get_close_matches(name, submission.functions(), 1)
    meant = f" It defines `{near[0]}`." if near else ""
    return f"`{name}` is not defined in this submission.{meant}"


def _grade_speed(result, submission, step, sandbox, settings, progress) -> None:
    """On a GPU, and of a kernel that is right; elsewhere the check says why it was not measured."""
    why = ""
    if not sandbox.gpu:
        why = "speed needs a GPU; on this device it is not measured"
    elif not result.passed:
        why = "speed is measured once everything else is right"
    elif not _torch_on_gpu():
        why = "the grader's own torch cannot use the GPU, so it has nothing to compare with"
    if why:
        result.checks.append(Check("speed", "speed", "not_measured", why))
        return
    from autograder.speed.grade import speed_check  # imports torch

    threshold = {**choices.load().thresholds, **settings.thresholds}.get(step.name)
    check, result.performance = speed_check(
        submission, step, sandbox, threshold, partial(progress, step.name)
    )
    result.checks.append(check)


def _torch_on_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _grade_tensors(result, submission, step, sandbox, settings, progress) -> None:
    """A step whose function takes tensors and returns one."""
    evidence, compilations = _run_battery(submission, step, sandbox, settings, progress)
    found = compile_check.findings(compilations, submission, evidence[0].case, step.task.ieee)
    result.checks = [e.check for e in evidence if e.shown] + [f.check for f in found]
    result.notes += _notes(step, evidence[0]) + tuned.notes(evidence)
    result.xray = [inspection.as_json(v) for c in compilations for v in inspection.views(c)]
    _hint(result, lambda: diagnosis.diagnose(evidence, step) or compile_check.hint(found, step))


def _grade_calls(result, submission, step, sandbox, settings, progress) -> None:
    """A step of plain Python: calls and values. As with kernels, the first case decides alone
    whether the others are worth their time."""
    cases = battery(step, settings.seed)
    evidence = []
    for done, case in enumerate(cases):
        progress(step.name, done, len(cases))
        evidence.append(calls.run(submission, step.name, case, sandbox, settings.timeout))
        if done == 0 and _hopeless(evidence[0]):
            break
    progress(step.name, len(cases), len(cases))
    result.checks = [e.check for e in evidence]
    _hint(result, lambda: calls.diagnose(evidence, step))


def _hint(result: StepResult, diagnose: Callable[[], Hint | None]) -> None:
    try:
        result.hint = diagnose()
    except Exception as error:  # noqa: BLE001 - marks stand without a hint
        kind = type(error).__name__
        result.notes.append(f"No hint: the diagnosis failed ({kind}). Please report this.")


def _hopeless(first: Evidence) -> bool:
    return first.check.status in HOPELESS or first.cause == "not_implemented"


def battery(step: course.Step, seed: int) -> list[Case] | list[CallCase]:
    """The cases of a step for a seed: the same seed gives the same cases, step by step."""
    rng = np.random.default_rng([seed, *step.name.encode()])
    return step.task.cases(rng)


def _run_battery(
    submission, step, sandbox, settings, progress
) -> tuple[list[Evidence], list[Compilation]]:
    """The first case, since most submissions that cannot work fail it, and the second where a core
    has nothing else to do; then the rest.

    A kernel whose first case is right is compiled as well, beside the other cases. Every second
    case runs its programs in shuffled order. An autotuned kernel has more to show.
    """
    gpu = sandbox.gpu if step.task.kernel else None
    machine, seconds = gpu or sandbox, settings.timeout + (GPU_START if gpu else 0)
    cases = battery(step, settings.seed)
    if gpu and not step.task.ieee:
        cases = [replace(case, bound=case.bound + case.coarse) for case in cases]
    code = submission.payload(step.name)
    judge = Judge(submission, step.name, step.task.kernel)
    orders = np.random.default_rng([settings.seed, 1]).integers(2**31, size=len(cases))
    done = total = 0

    def run(asked: tuned.Run, order: int | None = None, fill: float = np.nan) -> Evidence:
        nonlocal done
        if _needs_bfloat16(asked) and not machine.knows_bfloat16:
            evidence = _not_measured(asked.case)
        else:
            with Arena(asked.case, asked.before, fill) as arena:
                job = {
                    "code": code,
                    "arena": arena.describe(),
                    "more": list(asked.case.more),
                    "named": asked.case.named,
                    "allowed": sorted(step.task.allowed),
                    "kernel": step.task.kernel,
                    "gpu": gpu is not None,
                    "order": order,
                    "fill": fill,
                    "tuning": {
                        "config": asked.config,
                        "winner": asked.winner,
                        "rehearse": asked.rehearse,
                    },
                    "wall_seconds": seconds,
                    "cpu_seconds": int(seconds) + 2,
                }
                waiting = partial(progress, step.name, done, total)
                with lock.shared(waiting) if gpu else nullcontext():
                    outcome = machine.run(job, arena.fd)
                evidence = judge.judge(asked.case, arena, outcome)
        evidence.tuning = asked.tuning
        done += 1
        progress(step.name, done, total)
        return evidence

    def run_group(runs: list[tuned.Run]) -> list[Evidence]:
        nonlocal done
        evidence = []
        for asked in runs:
            evidence.append(run(asked))
            if evidence[-1].failed:
                break
        done += len(runs) - len(evidence)
        return evidence

    def side_by_side(function, *arguments) -> list:
        nonlocal total
        total += sum(len(a) if isinstance(a, list) else 1 for a in arguments[0])
        with sandbox.pool(at_once) as pool:
            return list(pool.map(function, *arguments))

    at_once = settings.at_once or max(1, min(len(os.sched_getaffinity(0)), 8))
    shuffled = [int(order) if i % 2 else None for i, order in enumerate(orders)]
    runs, some = [tuned.Run(case) for case in cases], min(2, at_once)
    progress(step.name, 0, len(cases))
    first, *second = side_by_side(run, runs[:some], shuffled[:some])
    if _hopeless(first):
        return [first], []
    to_compile = DEFAULT if first.launches and not first.failed else ()
    with sandbox.pool(len(DEFAULT)) as compilers:
        compiling = [
            compilers.submit(
                compile_check.compile_step,
                submission,
                step.name,
                first.case,
                TARGETS[name],
                sandbox.compiler,
            )
            for name in to_compile
        ]
        evidence = [first, *second, *side_by_side(run, runs[some:], shuffled[some:])]
        if step.task.second_fill is not None:
            total += 1
            evidence.append(_second_fill(cases, step.task.second_fill, run))
        if first.tuner and first.tuner.configs > 1:
            _name_config(evidence, first.tuner.configs)
            groups = partial(side_by_side, run_group)
            evidence += tuned.run_all(cases, step.task.each_config, first, groups)
        return evidence, [c.result() for c in compiling]


def _needs_bfloat16(asked: tuned.Run) -> bool:
    calls = (asked.case, *asked.before)
    return any(operand.dtype == "bfloat16" for call in calls for operand in call.operands)


def _not_measured(case: Case) -> Evidence:
    text = "bfloat16 values need a GPU here: this Triton's interpreter computes them wrongly"
    check = Check(case.name, case.kind, "not_measured", text, case=case.size)
    return Evidence(case, check, Outcome("not_run"))


def _second_fill(cases: list[Case], fill: float, run) -> Evidence:
    """A ragged case again, with a number that cannot be swallowed where nothing may be read."""
    # "N" for the columns of a result, "C" for those that are reduced.
    ragged = next((case for case in cases if {"N", "C"} & set(case.focus)), cases[-1])
    evidence = run(tuned.Run(ragged), fill=fill)
    evidence.check.name = f"{ragged.name}, large numbers beside it"
    return evidence


def _name_config(evidence: list[Evidence], configs: int) -> None:
    """The battery of an autotuned kernel is that of its first config: failures say so."""
    for e in evidence:
        if e.failed and e.tuner:
            e.check.message = f"Config 1 of {configs} ({e.tuner.chosen}): {e.check.message}"


def _notes(step: course.Step, first: Evidence) -> list[str]:
    """What the first case tells beside right and wrong: bytes moved."""
    notes = []
    account = first.outcome.account
    if step.task.optimum is None or account is None or first.failed:
        return notes
    for verb, moved, needed in zip(
        ("loads", "stores"), (account.loaded, account.stored), step.task.optimum(first.case)
    ):
        if needed and moved > WASTEFUL * needed:
            notes.append(
                f"Your kernel {verb} {moved / needed:.1f} times the bytes that are needed "
                f"({moved} instead of {needed} in “{first.case.name}”)."
            )
    return notes


def read_all(paths: tuple[Path, ...]) -> list[Path]:
    """The files to grade: those named, and in folders every notebook and `.py` file that defines
    a step.

    Raises BadInput for a path that cannot be graded, or a folder with nothing to grade.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            check_path(path)
            found.append(path)
            continue
        inside = sorted(
            p
            for p in path.rglob("*")
            if p.suffix in (".ipynb", ".py")
            and p.is_file()
            and not any(part.startswith((".", "__")) for part in p.relative_to(path).parts)
        )
        inside = [p for p in inside if p.suffix == ".ipynb" or _mentions_a_step(p)]
        if not inside:
            raise BadInput(f"{path}: no notebook and no .py file with a step of the course in it")
        found += inside
    return found


def _mentions_a_step(path: Path) -> bool:
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    return any(f"def {step.name}(" in text for step in course.STEPS)
