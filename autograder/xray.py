"""`xray`: what a compiler made of a learner's kernels, in full, for GPUs that need not be present.

Compiles every step for every target, and puts code and facts into the order in which they are shown.
Must never decide a verdict, and never run learner code in this process.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from autograder import compile_check, course, grading, inspection
from autograder.compile_check import Compilation
from autograder.sandbox import Sandbox
from autograder.submission import Submission
from autograder.targets import Target

SCHEMA = 1
CODE_LINE = re.compile(r'(?://|;|#)+\s*(?:File ")?[^"\s]*?([\w.]+\.py)(?::(\d+)|", line (\d+))')


@dataclass(frozen=True)
class StepXray:
    """One step: the size of the case that it was compiled for, and every target's compilation.

    Both are empty for a step without a kernel.
    """

    step: course.Step
    size: dict
    compilations: list[Compilation]


def examine(
    submission: Submission,
    steps: list[course.Step],
    targets: list[Target],
    compiler: Sandbox,
    listings: tuple[str, ...] = (),
    all_configs: bool = False,
    progress: Callable[[str, int, int], None] = lambda step, done, total: None,
) -> list[StepXray]:
    """Compiles every step for every target; `progress` hears step name, targets done, and of how many."""
    found = []
    with compiler.pool(max(1, min(len(os.sched_getaffinity(0)), 8))) as pool:
        for step in steps:
            if not step.task.kernel:
                found.append(StepXray(step, {}, []))
                continue
            case = grading.battery(step, 0)[0]
            progress(step.name, 0, len(targets))
            jobs = [
                pool.submit(
                    compile_check.compile_step,
                    submission,
                    step.name,
                    case,
                    target,
                    compiler,
                    listings,
                    all_configs,
                )
                for target in targets
            ]
            compilations = []
            for job in jobs:
                compilations.append(job.result())
                progress(step.name, len(compilations), len(targets))
            found.append(StepXray(step, case.size, compilations))
    return found


def exit_code(found: list[StepXray]) -> int:
    """0 when all compiled, 1 when a kernel is refused or too large, 2 when none was launched though
    there should be one."""
    compilations = [c for x in found for c in x.compilations]
    if any(c.refusals or too_large(c) for c in compilations):
        return 1
    return 0 if any(c.kernels for c in compilations) or not compilations else 2


def too_large(compilation: Compilation) -> bool:
    """Whether a kernel asks for more shared memory than the GPU gives to one program."""
    return any(k.shared > compilation.target.shared_block for k in compilation.kernels)


# --- code and JSON ---------------------------------------------------------------------------


def listing(text: str, submission: Submission) -> str:
    """Code with the learner's source line before what was made of it."""
    lines: list[str] = []
    last = ""
    for line in text.splitlines():
        found = CODE_LINE.search(line)
        if not found:
            if line.strip() and not line.strip().startswith((".loc", "$L__tmp", ".Ltmp")):
                lines.append(line.expandtabs(8).rstrip())
            continue
        number = int(found[2] or found[3])
        source = submission.text(found[1], number)
        if source and source != last:
            lines.append(f"// {submission.place(found[1], number)}: {source}")
            last = source
    return "\n".join(lines)


def to_json(submission: Submission, found: list[StepXray], environment: dict[str, str]) -> dict:
    """The object that `--json` writes; its fields are an interface."""
    return {
        "schema": SCHEMA,
        "path": str(submission.path),
        "environment": environment,
        "steps": [
            {
                "step": x.step.name,
                "case": x.size,
                "targets": [
                    {
                        "target": c.target.name,
                        "status": status(c),
                        "message": message(c, submission),
                        "kernels": [inspection.as_json(v) for v in inspection.views(c)],
                    }
                    for c in x.compilations
                ],
            }
            for x in found
        ],
    }


def status(compilation: Compilation) -> str:
    """`refused`, `too_large`, `not_judged` or `compiled`."""
    if compilation.refusals:
        return "refused"
    if too_large(compilation):
        return "too_large"
    return "not_judged" if compilation.unjudged else "compiled"


def message(compilation: Compilation, submission: Submission) -> str:
    """Why a compilation is not simply `compiled`; empty where it is."""
    return compile_check.verdict(compilation, submission)[1]
