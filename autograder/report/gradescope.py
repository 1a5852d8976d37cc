"""A grading as Gradescope's results.json: a test for each step, a leaderboard for each speed.

Gradescope runs the autograder once for each student and adds up the tests, so all files of the
grading count as that student's. Must never decide a verdict, only show it.
"""

from autograder.report import performance
from autograder.report.words import alike, printable, printed, titled, worded
from autograder.result import Grading, StepResult

KEPT_PRINTED = 2000


def results(grading: Grading) -> dict:
    """The object to write: plain text in all that students see."""
    several = len(grading.submissions) > 1
    environment = ", ".join(f"{name} {value}" for name, value in grading.environment.items())
    made = {
        "output": f"Graded with seed {grading.seed} on {environment}.",
        "execution_time": round(sum(step.seconds for step in grading.steps())),
        "visibility": "visible",
        "tests": [
            {
                "name": printable(f"{submission.path}: {step.step}" if several else step.step),
                "score": step.points,
                "max_score": step.max_points,
                "status": "passed" if step.passed else "failed",
                "output": _output(step),
                "visibility": "visible",
            }
            for submission in grading.submissions
            for step in submission.steps
        ],
    }
    places = [place for step in grading.steps() for place in _leaderboard(step)]
    # Gradescope opens a leaderboard for whatever stands here.
    return made | ({"leaderboard": places} if places else {})


def _leaderboard(step: StepResult) -> list[dict]:
    """The speed of a right kernel, under a name that is the same for the whole class."""
    found = performance.measured(step)
    if found is None or any(check.kind != "speed" for check in step.failed):
        return []
    name = f"{step.step}, {performance.unit(found)} on {found['gpu']}"
    return [{"name": printable(name), "value": performance.value(found)}]


def _output(step: StepResult) -> str:
    """The hint first, then what it explains."""
    lines = []
    if step.hint:
        lines += [f"Hint: {step.hint.text}", f"Read {step.hint.read}.", ""]
    lines += performance.lines(step)
    lines += [f"Note: {note}" for note in step.notes]
    for check, others in alike(step.failed):
        lines.append(f"{worded(check.status)}: {titled(check)}: {check.message}")
        lines += [others] if others else []
    lines += [
        f"not measured: {c.name}: {c.message}" for c in step.checks if c.status == "not_measured"
    ]
    counted = [c for c in step.checks if c.status != "not_measured"]
    good = len(counted) - len(step.failed)
    lines.append(f"{good} of {len(counted)} checks passed.")
    text = printed(step, KEPT_PRINTED)
    if text:
        lines += ["", "Your code printed (first case that did):", text]
    return printable("\n".join(lines))
