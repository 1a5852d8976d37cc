"""The result of a grading, from one check to a whole run. Every report is made from these.

Must never hold anything but plain data: no learner objects, no open files.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = 1
# From good to bad. A step's status is its worst check's.
STATUSES = ("passed", "not_measured", "failed", "error", "crashed", "timed_out", "refused")


@dataclass(frozen=True)
class ErrorMap:
    """Where a result is wrong, by blocks: `share[i][j]` is the wrong part of a block, 0 to 1."""

    rows: int
    cols: int
    block: int
    share: list[list[float]]


@dataclass
class Check:
    """One check of one step: a case, or a property of the whole.

    `place` is the learner's line that went wrong first, such as "cell 4, line 12", or "line 12" in
    a `.py` file; empty where none is known.
    """

    name: str
    kind: str  # correctness, memory, precision, compile, integrity, speed
    status: str
    message: str = ""
    case: dict = field(default_factory=dict)
    error_map: ErrorMap | None = None
    printed: str = ""
    place: str = ""


@dataclass
class Hint:
    """The likely mistake: its name, what to do about it, the paragraph to read.

    `steps` tells the same in three levels that a learner opens one by one: what was seen, where to
    look, what to do and read. A level of which nothing is known is empty.
    """

    cause: str
    text: str
    read: str
    steps: list[str]


@dataclass
class StepResult:
    """The marks of one step, with what led to them."""

    step: str
    max_points: float
    seconds: float
    checks: list[Check]
    hint: Hint | None = None
    notes: list[str] = field(default_factory=list)
    performance: dict | None = None

    @property
    def status(self) -> str:
        return max((c.status for c in self.checks), key=STATUSES.index, default="passed")

    @property
    def failed(self) -> list[Check]:
        """The checks that count against the step, whatever their status is called."""
        return [c for c in self.checks if c.status not in ("passed", "not_measured")]

    @property
    def passed(self) -> bool:
        return not self.failed

    @property
    def points(self) -> float:
        """All for a right step, nothing for a refused one, else the share of checks passed."""
        counted = [c.status for c in self.checks if c.status != "not_measured"]
        if not counted or "refused" in counted:
            return 0.0
        return round(self.max_points * counted.count("passed") / len(counted), 1)


@dataclass
class SubmissionResult:
    """The steps of one notebook or file."""

    path: str
    steps: list[StepResult]

    @property
    def passed(self) -> bool:
        return all(step.passed for step in self.steps)


@dataclass
class Grading:
    """One run of the autograder over one or more submissions."""

    seed: int
    environment: dict[str, str]
    submissions: list[SubmissionResult]

    @property
    def passed(self) -> bool:
        return all(submission.passed for submission in self.submissions)

    def steps(self) -> list[StepResult]:
        return [step for submission in self.submissions for step in submission.steps]

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` writes; its fields are an interface."""
        steps = self.steps()
        return {
            "schema": SCHEMA,
            "passed": self.passed,
            "points": sum(s.points for s in steps),
            "max_points": sum(s.max_points for s in steps),
            "seed": self.seed,
            "environment": self.environment,
            "submissions": [
                {
                    "path": submission.path,
                    "passed": submission.passed,
                    "steps": [_step_json(step) for step in submission.steps],
                }
                for submission in self.submissions
            ],
        }


def _step_json(step: StepResult) -> dict:
    return {
        "step": step.step,
        "passed": step.passed,
        "points": step.points,
        "max_points": step.max_points,
        "seconds": round(step.seconds, 3),
        "checks": [asdict(check) for check in step.checks],
        "hint": asdict(step.hint) if step.hint else None,
        "notes": step.notes,
        "performance": step.performance,
    }
