"""Grades a step of calls: hands the arguments to the worker and judges the values that come back.

The values are what counts, and a submission may send any: they are read strictly and compared with
what the grader computed. Must never run learner code, and never hand an expected value out.
"""

from collections import Counter
from dataclasses import replace

from autograder import account, arena, course, diagnosis, values
from autograder.account import Called, Error, Returned
from autograder.result import Check, Hint
from autograder.sandbox import Outcome, Sandbox
from autograder.steps.calls import Call, CallCase
from autograder.submission import Submission
from autograder.verdict import Evidence, Judge

# Causes that the verdict tells, before and after those that equal a known mistake.
FIRST = ("not_implemented", "timed_out", "input_modified")
LAST = ("wrong_type", "crashed")
POSITIONS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def run(submission: Submission, function: str, case: CallCase, sandbox: Sandbox, seconds: float):
    """One case run and judged: its Evidence. Never raises for anything that the submission does."""
    job = {
        "code": submission.payload(function),
        "world": case.world,
        "calls": [
            {
                "arguments": [values.write(a) for a in call.arguments],
                "named": {name: values.write(a) for name, a in call.named.items()},
            }
            for call in case.calls
        ],
        "wall_seconds": seconds,
        "cpu_seconds": int(seconds) + 2,
    }
    with arena.nothing() as fd:
        outcome = sandbox.run(job, fd, account.parse_called)
    return CallJudge(submission, function).judge_calls(case, outcome)


class CallJudge(Judge):
    """Judges the cases of a step of calls."""

    def judge_calls(self, case: CallCase, outcome: Outcome) -> Evidence:
        """The verdict on one run. Never raises for anything that the run did."""
        told = outcome.account
        if told and not told.error and len(told.outcomes) != len(case.calls):
            outcome = replace(outcome, account=None)
        check = Check(case.name, case.kind, "passed", case=case.size, printed=outcome.output)
        evidence = Evidence(case, check, outcome)
        if self._ended_badly(evidence):
            return evidence
        if told.error:
            self._raised_it(evidence, told.error, "could not be defined: the code it needs ")
            return evidence
        wrong = [(c, o) for c, o in zip(case.calls, told.outcomes) if _is_wrong(c, o, case)]
        if wrong:
            self._describe(evidence, *wrong[0])
            if len(wrong) > 1 and evidence.cause != "not_implemented":
                count = f"{len(wrong)} of {len(case.calls)} calls are wrong. First: "
                check.message = count + check.message
            check.message += _remark(case, told)
        return evidence

    def _raised_it(self, evidence: Evidence, error: Error, subject: str) -> None:
        self._error(evidence, error, subject)
        evidence.cause = evidence.cause or "crashed"

    def _describe(self, evidence: Evidence, call: Call, outcome) -> None:
        """The verdict on a case whose first wrong call is this one."""
        text = f"`{values.shown_call(self.step_name, call.arguments, call.named)}` "
        if not isinstance(outcome, Returned):
            self._raised_it(evidence, outcome, text)
            return
        differs = values.difference(outcome.value, call.expected, evidence.case.relative)
        if differs is None:
            text += (
                f"changed its {_argument(call, outcome.changed)} in place; it must leave it alone."
            )
            self._set(evidence, "failed", "input_modified", text)
            return
        kind, remark = differs
        came, expected = values.shown(outcome.value), values.shown(call.expected)
        text += f"returned {came}, expected {expected}{f': {remark}' if remark else ''}."
        self._set(evidence, "failed", "wrong_type" if kind == "type" else "", text)


def _is_wrong(call: Call, outcome, case: CallCase) -> bool:
    if not isinstance(outcome, Returned) or outcome.changed != -1:
        return True
    return values.difference(outcome.value, call.expected, case.relative) is not None


def _argument(call: Call, index: int) -> str:
    """ "second argument", or "argument `meta`" for one given by keyword."""
    names = list(call.named)
    if 0 <= index - len(call.arguments) < len(names):
        return f"argument `{names[index - len(call.arguments)]}`"
    return f"{POSITIONS[index]} argument" if 0 <= index < len(POSITIONS) else "argument"


def _remark(case: CallCase, told: Called) -> str:
    """What the case's own look at all values says, if all are of the right type."""
    if case.remark is None:
        return ""
    came = [o.value if isinstance(o, Returned) else None for o in told.outcomes]
    for value, call in zip(came, case.calls):
        differs = values.difference(value, call.expected, case.relative)
        if differs and differs[0] == "type":
            return ""
    text = case.remark(came)
    return f" {text}" if text else ""


# --- diagnosis --------------------------------------------------------------------------------


def diagnose(evidence: list[Evidence], step: course.Step) -> Hint | None:
    """The hint for a step of calls, or None when nothing failed."""
    failed = [e for e in evidence if e.failed]
    if not failed:
        return None
    told = {e.cause for e in failed}
    cause = next((c for c in FIRST if c in told), "") or _known_mistake(failed, step)
    cause = cause or next((c for c in LAST if c in told), step.task.otherwise)
    place = next((e.place for e in failed if e.place), "")
    seen = diagnosis.except_in(evidence, failed)
    return diagnosis.hint_for(cause, step, seen, f"Look at {place}." if place else "")


def _known_mistake(failed: list[Evidence], step: course.Step) -> str:
    """The cause whose wrong function returns what came, call by call, in most of the failed cases.

    In one alone it may be chance: numbers are few.
    """
    votes: Counter[str] = Counter()
    for e in failed:
        if isinstance(e.outcome.account, Called) and e.outcome.account.outcomes:
            found = [cause for cause, wrong in step.task.mistakes if _same(e, wrong)]
            votes.update(list(dict.fromkeys(found)))  # in order: of equals, the first wins
    cause, cases = next(iter(votes.most_common(1)), ("", 0))
    return cause if 2 * cases > len(failed) else ""


def _same(e: Evidence, wrong) -> bool:
    """Whether a wrong function does in every call of a case what the learner's did."""
    for call, outcome in zip(e.case.calls, e.outcome.account.outcomes):
        try:
            answer = wrong(*call.arguments, **call.named)
        except ArithmeticError:  # a division by zero is part of the mistake
            if isinstance(outcome, Returned):
                return False
            continue
        if not isinstance(outcome, Returned):
            return False
        if values.difference(outcome.value, answer, e.case.relative):
            return False
    return True
