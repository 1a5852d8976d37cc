"""Judges one run of one case: from the bytes it left, the guards, and how it ended.

Only the bytes and the end of the process decide that a result is right. What the run reports
about itself can make a right result fail, never a wrong one pass. Must never run learner code.
"""

import os
import re
import signal
from dataclasses import dataclass

import numpy as np

from autograder.account import Account, Error, Launch, Place, Race, Tuner, UntrueHint, Violation
from autograder.arena import Arena
from autograder.result import Check, ErrorMap
from autograder.sandbox import Outcome
from autograder.steps.case import Case
from autograder.submission import Submission

OWN_WORK = "The work of this step must be done by your own {}."
OVERRUN = (
    "A kernel wrote past the end of a tensor that you allocated, into memory that is not its own. "
    "Graded with --device cpu, the interpreter names the store."
)
# What the GPU's driver or Triton says, and what it means; the first that fits counts.
GPU_FAULTS = (
    ("illegal memory access", "a kernel touched memory that no tensor has, and the GPU stopped it. Graded with --device cpu, the interpreter names the access", "crashed"),
    ("misaligned address", "a kernel read or wrote several elements at once at an address that is no multiple of their size, and the GPU stopped it: a `tl.multiple_of` may be untrue", "hint_untrue"),
    ("out of resource: shared memory", "this GPU has less shared memory than the kernel asks for: use smaller tiles or fewer stages", "shared_memory_exceeded"),
    ("out of resource", "this GPU has less of something than the kernel asks for: use smaller tiles or fewer warps", "shared_memory_exceeded"),
    ("out of memory", "the GPU's memory did not suffice for what was allocated", "crashed"),
    ("device-side assert", "an assertion in a kernel failed", "crashed"),
    ("unspecified launch failure", "a kernel failed on the GPU, which does not say how", "crashed"),
)  # fmt: skip
MAP_BLOCKS = 16  # an error map has at most this many blocks a side


@dataclass
class Evidence:
    """A judged case with what the diagnosis may look at. A timed run is of no case."""

    case: Case | None
    check: Check
    outcome: Outcome
    cause: str = ""  # where the verdict itself tells the cause
    actual: np.ndarray | None = None
    wrong: np.ndarray | None = None
    unwritten: np.ndarray | None = None  # elements that no store reached
    # How an autotuned kernel ran: "config" (one of them, alone), "tuning" (the first call, which
    # tunes), "again" (a second call of the same shape) or "after" (after a call of another).
    tuning: str = "config"
    shown: bool = True  # whether the check stands in the result, or another speaks for it

    @property
    def failed(self) -> bool:
        return self.check.status not in ("passed", "not_measured")

    @property
    def wrong_parts(self) -> tuple[str, ...]:
        """Which parts have wrong elements: "" for the result, else the operand of a gradient."""
        if self.wrong is None:
            return ()
        return tuple(name for name, wrong in self.case.split(self.wrong).items() if wrong.any())

    @property
    def hole(self) -> np.ndarray:
        """Elements not written, of the first part that has any; none of the result otherwise."""
        parts = self.case.split(self.unwritten)
        return next((part for part in parts.values() if part.any()), parts[""])

    @property
    def place(self) -> str:
        return self.check.place

    @property
    def violations(self) -> tuple[Violation, ...]:
        return self.outcome.account.violations if self.outcome.account else ()

    @property
    def launches(self) -> tuple[Launch, ...]:
        return self.outcome.account.launches if self.outcome.account else ()

    @property
    def tuner(self) -> Tuner | None:
        """The autotuned kernel that ran, the one with the most configs."""
        tuners = self.outcome.account.tuners if self.outcome.account else ()
        return max(tuners, key=lambda t: t.configs, default=None)


class Judge:
    """Judges the cases of one step of one submission."""

    def __init__(self, submission: Submission, step_name: str, kernel: bool = True):
        """`kernel`: whether the work must be a kernel's, as in Task."""
        self.submission = submission
        self.step_name = step_name
        self.own_work = OWN_WORK.format("kernel" if kernel else "loops")

    def judge(self, case: Case, arena: Arena, outcome: Outcome) -> Evidence:
        """The verdict on one run. Never raises for anything that the run did."""
        check = Check(case.name, case.kind, "passed", case=case.size, printed=outcome.output)
        evidence = Evidence(case, check, outcome)
        if self._ended_badly(evidence):
            return evidence
        for look in (
            self._refused,
            self._raised,
            self._not_the_result_asked_for,
            self._not_the_gradients_asked_for,
            self._operands_changed,
        ):
            if look(evidence, outcome.account, arena):
                return evidence
        self._values(evidence, outcome.account, arena)
        return evidence

    # --- how the run ended --------------------------------------------------------------------

    def troubled(self, evidence: Evidence) -> bool:
        """Whether a run whose values are judged elsewhere ended badly, was refused, or raised."""
        account = evidence.outcome.account
        return (
            self._ended_badly(evidence)
            or self._refused(evidence, account, None)
            or self._raised(evidence, account, None)
        )

    def _ended_badly(self, evidence: Evidence) -> bool:
        outcome = evidence.outcome
        where = self._traced(outcome)
        at = f" It was at {where}." if where else ""
        status = "crashed"
        match outcome.end, outcome.code:
            case "exited", 0 if outcome.account is not None:
                return False
            case "timed_out", _:
                status = "timed_out"
                text = f"still running after {outcome.seconds:.0f} s and was stopped.{at}"
            case "signalled", signal.SIGXCPU | signal.SIGKILL:
                status = "timed_out"
                text = f"killed: it used more than its CPU time or memory.{at}"
            case "signalled", number:
                name = signal.strsignal(number) or f"signal {number}"
                text = f"crashed the process ({name}): memory that is not its own was touched.{at}"
            case "exited", code:
                text = f"ended the process (exit code {code}) before its result was handed over."
            case "printed_too_much", _:
                text = "printed more than 16 MB and was stopped."
            case "too_many_processes", _:
                text = "started more than 64 processes and was stopped."
            case "too_much_memory", _:
                text = "used more than 6 GB of memory and was stopped."
            case "still_writable", _:
                evidence.check.kind = "integrity"
                text = "left something that could still change the result after the run."
                return self._set(evidence, "refused", "crashed", text)
            case _:
                text = "killed the process that watched over it."
        return self._set(evidence, status, status, text, where)

    def _raised(self, evidence: Evidence, account: Account, arena: Arena) -> bool:
        error = account.error
        if error is None:
            return False
        if account.stage == "operands" and evidence.case and evidence.case.focus == "int64":
            text = "this GPU has too little memory for tensors that reach past 2³¹ elements"
            return self._set(evidence, "not_measured", "", text)
        fault = gpu_fault(error)
        if fault:
            text, cause = fault
            return self._set(
                evidence, "error", cause, text + self._quote(error.place), self._at(error.place)
            )
        refused = _refused_by_autograd(error.message) if account.stage == "backward" else None
        if refused:
            text, cause = refused
            return self._set(evidence, "error", cause, text, self._at(error.place))
        subjects = {
            "import": "could not be defined: the code it needs ",
            "backward": "its backward ",
        }
        return self._error(evidence, error, subjects.get(account.stage, ""))

    def _error(self, evidence: Evidence, error: Error, subject: str) -> bool:
        """`subject` is what raised it, where that must be said."""
        where = self._at(error.place)
        if error.not_implemented:
            text = f"`{self.step_name}` is not written yet" + (f" ({where})." if where else ".")
            return self._set(evidence, "error", "not_implemented", text, where)
        message = " ".join(error.message.split())[:300]
        text = f"{subject}raised {error.type}: {message}" + self._quote(error.place)
        return self._set(evidence, "error", "", text, where)

    def _refused(self, evidence: Evidence, account: Account, arena: Arena) -> bool:
        refusal = account.refusal
        if refusal is None:
            return False
        text = f"{refusal.used_as} was made by {refusal.what}"
        text += self._quote(refusal.place) or "."
        text = f"{text[0].upper()}{text[1:]} {self.own_work}"
        evidence.check.kind = "integrity"
        return self._set(evidence, "refused", "library_call", text, self._at(refusal.place))

    def _not_the_result_asked_for(self, evidence: Evidence, account: Account, arena: Arena) -> bool:
        case, result = evidence.case, account.result
        if result is None or result.type != "Tensor":
            kind = result.type if result and result.type != "NoneType" else "nothing"
            text = f"returned {kind}, expected a torch.Tensor."
            return self._set(evidence, "failed", "nothing_returned", text)
        if result.shape != case.shape:
            text = f"returned shape {result.shape}, expected {case.shape}."
            return self._set(evidence, "failed", "wrong_shape", text)
        if result.dtype != case.dtype:
            text = f"returned {result.dtype}, expected {case.dtype}."
            return self._set(evidence, "failed", "wrong_dtype", text)
        if 0 <= result.alias < len(case.operands):
            name = case.operands[result.alias].name
            text = f"returned memory of its argument `{name}`; expected a newly allocated tensor."
            return self._set(evidence, "failed", "input_modified", text)
        if not result.contiguous:
            text = "returned a tensor that is not contiguous; expected a new, dense one."
            return self._set(evidence, "failed", "wrong_shape", text)
        return False

    def _not_the_gradients_asked_for(
        self, evidence: Evidence, account: Account, arena: Arena
    ) -> bool:
        case = evidence.case
        if case.backward is None or not case.backward.wanted:
            return False
        wanted = case.backward.wanted
        if not account.result.graph:
            text = (
                f"returned a tensor that cannot be differentiated, although {_listed(wanted)} "
                f"require{'s' * (len(wanted) == 1)} a gradient: it has no `grad_fn`."
            )
            return self._set(evidence, "failed", "gradient_missing", text)
        for index, name in enumerate(wanted):
            told = account.gradients[index] if index < len(account.gradients) else None
            shape = case.parts[name]
            if told is None or told.type != "Tensor":
                text = f"the gradient of `{name}` is None, expected a tensor of shape {shape}."
                return self._set(evidence, "failed", "gradient_missing", text)
            if told.shape != shape or told.dtype != case.dtype:
                text = (
                    f"the gradient of `{name}` has shape {told.shape} and type {told.dtype}, "
                    f"expected {shape} and {case.dtype}."
                )
                return self._set(evidence, "failed", "wrong_shape", text)
        return False

    def _operands_changed(self, evidence: Evidence, account: Account, arena: Arena) -> bool:
        for name, where in arena.changed().items():
            if where == "values":
                text = f"the argument `{name}` was changed; a step never changes its inputs."
                if name not in [operand.name for operand in evidence.case.operands]:
                    text = f"the gradient of the result, `{name}`, was changed; others may read it."
                evidence.check.kind = "memory"
                return self._set(evidence, "failed", "input_modified", text)
            if not account.violations:
                text = f"memory beside the argument `{name}` was written."
                evidence.check.kind = "memory"
                return self._set(evidence, "failed", "store_mask_missing", text)
        return False

    # --- values -------------------------------------------------------------------------------

    def _values(self, evidence: Evidence, account: Account, arena: Arena) -> None:
        case, check = evidence.case, evidence.check
        evidence.unwritten = arena.unwritten()
        with np.errstate(invalid="ignore"):  # NaN of any kind
            evidence.actual = arena.result().astype(np.float64)
            evidence.wrong = ~(np.abs(evidence.actual - case.expected) <= case.bound)
        sentences = []
        if evidence.wrong.any():
            part = evidence.wrong_parts[0]
            check.error_map = error_map(case.split(evidence.wrong)[part])
            sentences.append(_describe_wrong(evidence, part) + _other_parts(evidence))
        if account.violations:
            if not sentences:
                check.kind = "memory"
            check.place = self._at(account.violations[0].place)
            sentences.append(self._describe_violation(account.violations[0]))
        elif account.overrun:
            if not sentences:
                check.kind = "memory"
            evidence.cause = "store_mask_missing"
            sentences.append(OVERRUN)
        for trouble, describe in (
            (account.races, self._describe_race),
            (account.hints, self._describe_hint),
        ):
            if trouble and not account.violations:
                if not sentences:
                    check.kind = "memory"
                check.place = check.place or self._at(trouble[0].place)
                sentences.append(describe(trouble[0]))
        if sentences:
            check.status, check.message = "failed", " ".join(sentences)
        elif account.no_kernel and case.expected.size:
            check.kind = "integrity"
            text = f"The result is right, but no kernel of yours wrote it. {self.own_work}"
            self._set(evidence, "refused", "library_call", text)

    def _describe_violation(self, violation: Violation) -> str:
        verb = {"load": "read", "store": "write"}.get(violation.access, "atomic access")
        text = f"Out-of-bounds {verb}"
        if violation.argument:
            text += f" of `{violation.argument}` (shape {violation.shape})"
        text += (
            f" by program {violation.program}: {violation.bad_lanes} of {violation.lanes} lanes lie "
            "outside the tensor"
        )
        return text + (self._quote(violation.place) or ".")

    def _describe_race(self, race: Race) -> str:
        verbs = {"load": "reads", "store": "writes", "atomic": "changes by an atomic"}
        first, second = (verbs.get(kind, "touches") for kind in (*race.kinds, "", "")[:2])
        one, other = (*race.programs, (), ())[:2]
        does = f"both write an element of `{race.argument}`"
        if first != second:
            does = f"race: one {first} and the other {second} the same element of `{race.argument}`"
        text = f"Programs {one} and {other} {does}, in an order that a GPU does not promise"
        return text + (self._quote(race.place) or ".")

    def _describe_hint(self, hint: UntrueHint) -> str:
        promised = hint.promised[0] if len(hint.promised) == 1 else list(hint.promised)
        text = (
            f"The hint `tl.{hint.hint}(…, {promised})` is not true in program {hint.program}: "
            f"the value {hint.value} breaks it"
        )
        return text + (self._quote(hint.place) or ".")

    # --- words --------------------------------------------------------------------------------

    def _set(self, evidence, status, cause, text, place="") -> bool:
        check = evidence.check
        check.status, check.message, check.place = status, text, place
        evidence.cause = cause
        return True

    def _at(self, place: Place) -> str:
        return self.submission.place(place.filename, place.line) if place.filename else ""

    def _quote(self, place: Place) -> str:
        """ " at cell 4, line 12: `a = tl.load(a_ptrs)`." or nothing."""
        if not place.filename:
            return ""
        text = self.submission.text(place.filename, place.line)
        return f" at {self._at(place)}: `{text}`." if text else f" at {self._at(place)}."

    def _traced(self, outcome: Outcome) -> str:
        """The learner's innermost line in a faulthandler dump, which lists it first."""
        for path, line in re.findall(r'File "([^"]+)", line (\d+)', outcome.trace):
            folder, filename = os.path.split(path)
            if folder == outcome.folder:
                return self.submission.place(filename, int(line))
        return ""


# What torch.autograd says of what a backward returns, and what it means.
AUTOGRAD = (
    (
        r"returned an invalid gradient at index (\d+) - got (\[.*?\]) but expected shape compatible with (\[.*?\])",
        "backward returned shape {1} as the gradient of argument {0} of forward (counted from 0), expected {2}.",
        "wrong_shape",
    ),
    (
        r"returned an incorrect number of gradients \(expected (\d+), got (\d+)\)",
        "backward returned {1} values, expected {0}: one for each argument of forward, or None.",
        "gradient_missing",
    ),
)  # fmt: skip


def gpu_fault(error: Error) -> tuple[str, str] | None:
    """What a GPU, or Triton on its behalf, would not do: (a sentence, its cause)."""
    if error.type not in ("AcceleratorError", "RuntimeError", "OutOfResources", "OutOfMemoryError"):
        return None
    return next((told for words, *told in GPU_FAULTS if words in error.message.lower()), None)


def _refused_by_autograd(message: str) -> tuple[str, str] | None:
    """(what is wrong, cause) where autograd turned away what backward returned."""
    for pattern, text, cause in AUTOGRAD:
        found = re.search(pattern, message)
        if found:
            return text.format(*found.groups()), cause
    return None


def _listed(names: tuple[str, ...]) -> str:
    """ "`q`, `k` and `v`"."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


def _other_parts(evidence: Evidence) -> str:
    """What else is wrong, and what is right, of a result and its gradients."""
    if len(evidence.case.parts) == 1:
        return ""
    wrong = evidence.wrong_parts
    right = [name for name in evidence.case.parts if name not in wrong]
    text = ""
    for verdict, parts in (("wrong too", wrong[1:]), ("right", right)):
        called = [f"the gradient of `{name}`" if name else "the result" for name in parts]
        if called:
            text += f" {verdict[0].upper()}{verdict[1:]}: {', '.join(called)}."
    return text


def _describe_wrong(evidence: Evidence, part: str) -> str:
    case = evidence.case
    actual, wrong, expected, bound, unwritten = (
        case.split(x)[part]
        for x in (evidence.actual, evidence.wrong, case.expected, case.bound, evidence.unwritten)
    )
    count, nan = int(wrong.sum()), int(np.isnan(actual[wrong]).sum())
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    at = ", ".join(map(str, index))
    of = f" of the gradient of `{part}`" if part else ""
    text = f"{count} of {wrong.size} elements{of} are wrong"
    unwritten = int(unwritten.sum())
    if unwritten:
        text += f", {'all' if unwritten == count else unwritten} of them never written"
    if nan > unwritten:
        text += f", {'all' if nan == count else nan - unwritten} of them NaN"
    text += f". First: [{at}] is {actual[index]:.6g}, expected {expected[index]:.6g}"
    if bound[index]:
        text += f" ± {bound[index]:.2g}"
    return text + "."


def error_map(wrong: np.ndarray) -> ErrorMap:
    """The share of wrong elements by square blocks, at most MAP_BLOCKS a side."""
    wrong = np.atleast_2d(wrong)
    wrong = wrong.reshape(-1, wrong.shape[-1])  # heads and batches one below the other
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
