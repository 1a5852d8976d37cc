"""The compile check: what a GPU's compiler says of kernels that the interpreter runs.

The learner's function is compiled for GPUs that need not be present, in a process of its own
(worker/compiler.py). What the compiler refuses, what asks for more shared memory than the GPU has,
and dots that add up in too few bits fail a step; everything else that can be seen only informs.
What comes back is a claim of the submission's process. Must never fail a kernel that could not be
judged: that is `not_measured`, with the reason.
"""

import re
from dataclasses import dataclass, replace

from autograder import course, diagnosis
from autograder.account import Compiled, Dot, Error, Kernel, Place
from autograder.arena import Arena
from autograder.result import Check, Hint
from autograder.sandbox import Outcome, Sandbox, WorkerError
from autograder.steps.case import Case
from autograder.submission import Submission
from autograder.targets import Target

COMPILE_SECONDS = 60.0  # one kernel for one GPU takes about a second; unrolled loops take longer
LONGEST = 240  # characters of a message that are kept
# Errors of the machine that compiles, not of what it compiles.
NO_TOOLS = {"OSError", "FileNotFoundError", "PermissionError", "BlockingIOError", "MemoryError"}
COARSE = {"tf32", "bf16x3"}  # precisions of a float32 dot that lose bits

# Triton's words, and what a learner can do about them. The first that fits counts.
REFUSALS = (
    (r"global variable (\w+)", "Pass `{0}` to the kernel as an argument `{0}: tl.constexpr`."),
    (r"K >= (\d+)", "Make the tile of the dot at least {0} long along K, and mask what lies past the end."),
    (r"Loop-carried variable (\w+)", "Give `{0}` its final shape and type before the loop, for example `tl.zeros((M, N), dtype=tl.float32)`."),
    (r"unsupported AST node type: (Break|Continue)", "Put the condition into the loop's bound, or into a mask: a kernel's loop cannot be left early."),
    (r"unsupported AST node type: (?:ListComp|List|Dict|DictComp|Set|GeneratorExp)", "Keep one tensor instead of a collection: a kernel has no lists or dictionaries."),
    (r"unsupported AST node type", "Move that statement out of the kernel, into the Python function that launches it."),
    (r"Unsupported function referenced: <(?:ufunc|built-in)", "Write it with Triton's own operators (`tl.`): NumPy, torch and Python's libraries do not run inside a kernel."),
    (r"Did you forget to add @triton\.jit|must be .*jit|Unsupported function referenced", "Put `@triton.jit` above the helper: a kernel can only call functions that are compiled with it."),
    (r"cannot be interpreted as an integer", "Write an ordinary `for` loop there: what stands in brackets is worked out while compiling, when only `tl.constexpr` values are known."),
    (r"power of (?:2|two)", "Make every side of a tile a power of two, and mask what lies past the end."),
)  # fmt: skip


@dataclass(frozen=True)
class Compilation:
    """One function for one GPU: its kernels, what was refused, why it could not be judged, and the
    device of its result."""

    target: Target
    kernels: tuple[Kernel, ...] = ()
    refusals: tuple[Error, ...] = ()
    unjudged: str = ""
    device: str = ""


@dataclass
class Finding:
    """A check with what the diagnosis may say about it."""

    check: Check
    cause: str = ""
    advice: str = ""


def compile_step(
    submission: Submission,
    function: str,
    case: Case,
    target: Target,
    compiler: Sandbox,
    listings: tuple[str, ...] = (),
    all_configs: bool = False,
) -> Compilation:
    """Compiles what `function` launches for the shapes of `case`. Never raises for a submission.

    `listings`: "ptx" and "sass", where the code itself is wanted. `all_configs`: every configuration
    of an autotuned kernel instead of the first.
    """
    with Arena(case) as arena:
        job = {
            "code": submission.payload(function),
            "arena": arena.describe(),
            "more": list(case.more),
            "named": case.named,
            "target": {
                "backend": target.backend,
                "arch": target.arch,
                "warp_size": target.warp_size,
                "shared_block": target.shared_block,
                "registers": target.registers,
            },
            "listings": list(listings),
            "all_configs": all_configs,
            "wall_seconds": COMPILE_SECONDS,
            "cpu_seconds": int(COMPILE_SECONDS) + 2,
        }
        try:
            outcome = compiler.run(job, arena.fd)
        except WorkerError as error:
            return Compilation(target, unjudged=f"{error}.")
    return _compilation(target, outcome, submission)


def _compilation(target: Target, outcome: Outcome, submission: Submission) -> Compilation:
    if outcome.end == "timed_out":
        return Compilation(target, unjudged=f"it did not end within {COMPILE_SECONDS:.0f} s.")
    told = outcome.account
    if not isinstance(told, Compiled):
        return Compilation(target, unjudged="the compiling process ended without an answer.")
    unjudged = _why_unjudged(told, submission)
    refusals = () if unjudged else told.refusals
    return Compilation(target, told.kernels, refusals, unjudged, told.device)


def _why_unjudged(told: Compiled, submission: Submission) -> str:
    """Why nothing can be said about the kernels; empty where something can."""
    for error in (*told.refusals, *filter(None, [told.error])):
        source = submission.text(error.place.filename, error.place.line)
        if source.startswith("raise NotImplementedError"):
            at = submission.place(error.place.filename, error.place.line)
            return f"it is not written yet ({at})."
    for refusal in told.refusals:
        if refusal.type in NO_TOOLS or "Cannot find" in refusal.message:
            return f"this machine could not run the compiler: {_sentence(refusal.message)}."
    if told.error and not told.refusals:
        return (
            f"without data to work on, the function raised {told.error.type}: "
            f"{_sentence(told.error.message)}{_at(told.error.place, submission)}"
        )
    return "" if told.kernels or told.refusals else "no kernel was launched."


# --- findings ---------------------------------------------------------------------------------


def findings(
    compilations: list[Compilation], submission: Submission, case: Case, ieee: bool
) -> list[Finding]:
    """A check of kind `compile` per GPU, and one of kind `precision` where there are dots.

    `ieee`: the step promises the accuracy of float32.
    """
    found = [_compiles(c, submission, case) for c in compilations]
    told: dict[str, str] = {}
    for finding, compilation in zip(found, compilations):
        first = told.setdefault(finding.check.message, compilation.target.name)
        if finding.check.message and first != compilation.target.name:
            finding.check.message = f"the same as for {first}."
    dots = [dot for c in compilations for kernel in c.kernels for dot in kernel.dots]
    if dots:
        found.append(_precise(dots, submission, case, ieee))
    return found


def verdict(compilation: Compilation, submission: Submission) -> tuple[str, str, str]:
    """(status, message, cause) for one GPU; message and cause are empty for a kernel that compiles."""
    target = compilation.target
    if compilation.refusals:
        refusal = compilation.refusals[0]
        text = f"the compiler refuses this kernel: {_sentence(refusal.message)}"
        return "failed", text + _at(refusal.place, submission), "does_not_compile"
    for kernel in compilation.kernels:
        if kernel.shared > target.shared_block:
            text = f"`{kernel.name}` cannot be launched: {too_much_shared(kernel, target)}"
            return "failed", text, "shared_memory_exceeded"
    if compilation.device not in ("", "meta"):  # where the operands of this check are
        text = (
            f"the result lies on the device `{compilation.device}`, wherever the inputs are. On a GPU "
            "the kernel could not write it."
        )
        return "failed", text, "device_forgotten"
    if compilation.unjudged:
        return "not_measured", f"not judged: {compilation.unjudged}", ""
    return "passed", "", ""


def _compiles(compilation: Compilation, submission: Submission, case: Case) -> Finding:
    status, message, cause = verdict(compilation, submission)
    name = f"compiles for {compilation.target.name}"
    check = Check(name, "compile", status, message, case=case.size)
    refused = compilation.refusals[:1]
    return Finding(check, cause, advice_for(refused[0].message) if refused else "")


def _precise(dots: list[Dot], submission: Submission, case: Case, ieee: bool) -> Finding:
    check = Check("precision of tl.dot", "precision", "passed", case=case.size)
    for dot in dots:
        at = _at(dot.place, submission)
        if dot.accumulator in ("f16", "bf16"):
            kind = {"f16": "float16", "bf16": "bfloat16"}[dot.accumulator]
            check.status = "failed"
            check.message = f"a dot adds up its products in {kind}{at}"
            return Finding(check, "low_precision_accumulator")
        if ieee and dot.operand == "f32" and dot.precision in COARSE:
            check.status = "failed"
            check.message = (
                f"a dot of float32 tiles is computed in {dot.precision.upper()}, "
                f"where this step promises float32 accuracy{at}"
            )
            return Finding(check, "tf32_where_fp32_promised")
    return Finding(check)


def too_much_shared(kernel: Kernel, target: Target) -> str:
    """ "it needs 262,144 bytes of shared memory, sm_90 has 232,448." """
    return (
        f"it needs {kernel.shared:,} bytes of shared memory, "
        f"{target.name} has {target.shared_block:,}."
    )


def advice_for(message: str) -> str:
    """What to do about a refusal, where its words are known."""
    for pattern, advice in REFUSALS:
        found = re.search(pattern, message)
        if found:
            return advice.format(*found.groups())
    return ""


def hint(found: list[Finding], step: course.Step) -> Hint | None:
    """The hint of the first finding that fails the step."""
    failed = next((f for f in found if f.cause), None)
    if failed is None:
        return None
    usual = diagnosis.hint_for(failed.cause, step)
    return replace(usual, text=failed.advice) if failed.advice else usual


# --- words ------------------------------------------------------------------------------------


def _sentence(message: str) -> str:
    """The first sentence of what Triton says, without its quotation of the source."""
    text = " ".join(message.split())
    inner = re.fullmatch(r"\w+\((['\"])(.*)\1,?\)", text)  # AssertionError('…')
    text = re.sub(r" at 0x[0-9a-f]+", "", inner[2] if inner else text)
    text = re.split(r"(?<=[.!])\s+(?=[A-Z])|\\n", text)[0][:LONGEST]
    return text.rstrip(". ") or "no reason given"


def _at(place: Place, submission: Submission) -> str:
    """ " at cell 4, line 12: `acc += x`." or a full stop."""
    if not place.filename:
        return "."
    at = submission.place(place.filename, place.line)
    text = submission.text(place.filename, place.line)
    return f" at {at}: `{text}`." if text else f" at {at}."
