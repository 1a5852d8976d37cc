"""Judges one run of one case: from the bytes it left, the guards, and how it ended.

Only the bytes and the end of the process decide that a result is right. What the run reports
about itself can make a right result fail, never a wrong one pass. Must never run learner code.
"""

import re
import signal
from dataclasses import dataclass, field

import numpy as np

from autograder.arena import Arena
from autograder.result import Check, ErrorMap
from autograder.sandbox import Outcome
from autograder.steps.case import Case
from autograder.submission import Submission

MAP_BLOCKS = 16  # an error map has at most this many blocks a side


@dataclass
class Evidence:
    """A judged case with what the diagnosis may look at."""

    case: Case
    check: Check
    outcome: Outcome
    cause: str = ""  # where the verdict itself tells the cause
    place: str = ""  # "cell 4, line 12" of the first thing that went wrong
    violations: list[dict] = field(default_factory=list)
    unfilled: list[dict] = field(default_factory=list)
    actual: np.ndarray | None = None
    wrong: np.ndarray | None = None
    unwritten: np.ndarray | None = None  # elements that no store reached

    @property
    def failed(self) -> bool:
        return self.check.status != "passed"

    def launches(self) -> list[dict]:
        """Kernel launches as the run reported them; empty when it reported nonsense."""
        launches = self.outcome.report.get("launches", [])
        return [x for x in launches if isinstance(x, dict)] if isinstance(launches, list) else []


class Judge:
    """Judges the cases of one step of one submission."""

    def __init__(self, submission: Submission, step_name: str):
        self.submission = submission
        self.step_name = step_name

    def judge(self, case: Case, arena: Arena, outcome: Outcome) -> Evidence:
        """The verdict on one run. Never raises for anything that the run did."""
        check = Check(case.name, case.kind, "passed", case=case.size, printed=outcome.output)
        evidence = Evidence(case, check, outcome)
        evidence.violations = _records(outcome.report.get("violations"))
        evidence.unfilled = _records(outcome.report.get("unfilled"))
        for look in (
            self._ended_badly,
            self._refused,
            self._raised,
            self._not_the_result_asked_for,
            self._operands_changed,
        ):
            if look(evidence, arena):
                return evidence
        self._values(evidence, arena)
        return evidence

    # --- how the run ended --------------------------------------------------------------------

    def _ended_badly(self, evidence: Evidence, arena: Arena) -> bool:
        outcome = evidence.outcome
        where = self._traced(outcome)
        at = f" It was at {where}." if where else ""
        match outcome.end, outcome.code:
            case "exited", 0 if outcome.report.get("stage"):
                return False
            case "timed_out", _:
                text = f"still running after {outcome.seconds:.0f} s and was stopped.{at}"
                return self._set(evidence, "timed_out", "timed_out", text, where)
            case "signalled", signal.SIGXCPU | signal.SIGKILL:
                text = f"killed: it used more than its CPU time or memory.{at}"
                return self._set(evidence, "timed_out", "timed_out", text, where)
            case "signalled", number:
                name = signal.strsignal(number) or f"signal {number}"
                text = f"crashed the process ({name}): memory that is not its own was touched.{at}"
            case "exited", code:
                text = f"ended the process itself (exit code {code}) before its result was handed over."
            case "printed_too_much", _:
                text = "printed more than 16 MB and was stopped."
            case "too_many_processes", _:
                text = "started more than 64 processes and was stopped."
            case "too_much_memory", _:
                text = "used more than 6 GB of memory and was stopped."
            case _:
                text = "killed the process that watched over it."
        return self._set(evidence, "crashed", "crashed", text, where)

    def _raised(self, evidence: Evidence, arena: Arena) -> bool:
        error = evidence.outcome.report.get("error")
        if not isinstance(error, dict):
            return False
        where = self._place(evidence.outcome, error)
        if error.get("not_implemented") is True:
            text = f"`{self.step_name}` is not written yet" + (f" ({where})." if where else ".")
            return self._set(evidence, "error", "not_implemented", text, where)
        message = " ".join(str(error.get("message", "")).split())[:300]
        text = f"raised {error.get('type')}: {message}" + self._quote(evidence.outcome, error)
        if evidence.outcome.report.get("stage") == "import":
            text = f"could not be defined: the code it needs {text}"
        return self._set(evidence, "error", "", text, where)

    def _refused(self, evidence: Evidence, arena: Arena) -> bool:
        refusal = evidence.outcome.report.get("refusal")
        if not isinstance(refusal, dict):
            return False
        where = self._place(evidence.outcome, refusal)
        text = f"{refusal.get('used_as')} was made by {refusal.get('what')}"
        text += self._quote(evidence.outcome, refusal) or "."
        text = (
            text[0].upper() + text[1:] + " The work of this step must be done by your own kernel."
        )
        evidence.check.kind = "integrity"
        return self._set(evidence, "refused", "library_call", text, where)

    def _not_the_result_asked_for(self, evidence: Evidence, arena: Arena) -> bool:
        result = evidence.outcome.report.get("result")
        result = result if isinstance(result, dict) else {}
        case = evidence.case
        if result.get("type") != "Tensor":
            kind = result.get("type")
            text = f"returned {kind}, expected a torch.Tensor of shape {_shape(case.shape)}."
            return self._set(evidence, "failed", "wrong_shape", text)
        shape = result.get("shape")
        if shape != list(case.shape):
            text = f"returned shape {_shape(shape)}, expected {_shape(case.shape)}."
            return self._set(evidence, "failed", "wrong_shape", text)
        if result.get("dtype") != case.dtype:
            text = f"returned {result.get('dtype')}, expected {case.dtype}."
            return self._set(evidence, "failed", "wrong_dtype", text)
        alias = result.get("alias")
        if isinstance(alias, int) and 0 <= alias < len(case.operands):
            name = case.operands[alias].name
            text = f"returned memory of its argument `{name}`; expected a newly allocated tensor."
            return self._set(evidence, "failed", "input_modified", text)
        if result.get("contiguous") is not True:
            text = "returned a tensor that is not contiguous; expected a new, dense one."
            return self._set(evidence, "failed", "wrong_shape", text)
        return False

    def _operands_changed(self, evidence: Evidence, arena: Arena) -> bool:
        for name, where in arena.changed().items():
            if where == "values":
                text = f"the argument `{name}` was changed; a step never changes its inputs."
                evidence.check.kind = "memory"
                return self._set(evidence, "failed", "input_modified", text)
            if not evidence.violations:
                text = f"memory beside the argument `{name}` was written."
                evidence.check.kind = "memory"
                return self._set(evidence, "failed", "store_mask_missing", text)
        return False

    # --- values -------------------------------------------------------------------------------

    def _values(self, evidence: Evidence, arena: Arena) -> None:
        case, check = evidence.case, evidence.check
        evidence.actual = arena.result().astype(np.float64)
        evidence.unwritten = arena.unwritten()
        with np.errstate(invalid="ignore"):
            evidence.wrong = ~(np.abs(evidence.actual - case.expected) <= case.bound)
        sentences = []
        if evidence.wrong.any():
            check.status = "failed"
            check.error_map = error_map(evidence.wrong)
            sentences.append(_describe_wrong(evidence))
        if evidence.violations:
            first = evidence.violations[0]
            check.status = "failed"
            if not sentences:
                check.kind = "memory"
            evidence.place = self._place(evidence.outcome, first)
            sentences.append(self._describe_violation(evidence.outcome, first))
        check.message = " ".join(sentences)
        if (
            not sentences
            and evidence.outcome.report.get("no_kernel") is not False
            and case.expected.size
        ):
            text = (
                "The result is right, but no kernel of yours wrote it. The work of this step must "
            )
            check.kind = "integrity"
            self._set(evidence, "refused", "library_call", text + "be done by your own kernel.")

    def _describe_violation(self, outcome: Outcome, violation: dict) -> str:
        name = violation.get("argument")
        bad, active = (violation.get("lanes") or [0, 0])[:2]
        verb = {"load": "read", "store": "write", "atomic": "atomic"}.get(
            violation.get("access"), "access"
        )
        program = tuple(violation.get("program") or ())
        text = f"Out-of-bounds {verb}"
        if name:
            text += f" of `{name}` (shape {_shape(violation.get('shape'))})"
        text += f" by program {program}: {bad} of {active} lanes lie outside the tensor"
        return text + (self._quote(outcome, violation) or ".")

    # --- words --------------------------------------------------------------------------------

    def _set(self, evidence, status, cause, text, place="") -> bool:
        evidence.check.status, evidence.check.message = status, text
        evidence.cause, evidence.place = cause, place
        return True

    def _place(self, outcome: Outcome, record: dict) -> str:
        filename, line = outcome.filename(record.get("file")), record.get("line")
        if filename is None or not isinstance(line, int):
            return ""
        return self.submission.place(filename, line)

    def _quote(self, outcome: Outcome, record: dict) -> str:
        """ " at cell 4, line 12: `a = tl.load(a_ptrs)`." or nothing."""
        where = self._place(outcome, record)
        if not where:
            return ""
        text = self.submission.text(outcome.filename(record["file"]), record["line"])
        return f" at {where}: `{text}`." if text else f" at {where}."

    def _traced(self, outcome: Outcome) -> str:
        """The learner's innermost line in a faulthandler dump, which lists it first."""
        for path, line in re.findall(r'File "([^"]+)", line (\d+)', outcome.trace):
            filename = outcome.filename(path)
            if filename:
                return self.submission.place(filename, int(line))
        return ""


def _records(value) -> list[dict]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _shape(shape) -> str:
    return str(tuple(shape)) if isinstance(shape, list | tuple) else str(shape)


def _describe_wrong(evidence: Evidence) -> str:
    case, actual, wrong = evidence.case, evidence.actual, evidence.wrong
    count, nan = int(wrong.sum()), int(np.isnan(actual[wrong]).sum())
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    at = ", ".join(map(str, index))
    text = f"{count} of {wrong.size} elements are wrong"
    unwritten = int(evidence.unwritten.sum())
    if unwritten:
        text += f", {'all' if unwritten == count else unwritten} of them never written"
    if nan > unwritten:
        text += f", {'all' if nan == count else nan - unwritten} of them NaN"
    text += f". First: [{at}] is {actual[index]:.6g}, expected {case.expected[index]:.6g}"
    if case.bound[index]:
        text += f" ± {case.bound[index]:.2g}"
    return text + "."


def error_map(wrong: np.ndarray) -> ErrorMap:
    """The share of wrong elements by square blocks, at most MAP_BLOCKS a side."""
    wrong = np.atleast_2d(wrong)
    block = 1
    while max(wrong.shape) > block * MAP_BLOCKS:
        block *= 2
    rows, cols = (-(-n // block) for n in wrong.shape)
    share = [
        [
            float(wrong[i * block : (i + 1) * block, j * block : (j + 1) * block].mean())
            for j in range(cols)
        ]
        for i in range(rows)
    ]
    return ErrorMap(*wrong.shape, block, share)
