"""The speed check of one step: a referee, a contestant, a verdict.

Must never be asked of a submission that has not passed its battery: what is wrong has no speed.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import torch

from autograder import account, course
from autograder.device_memory import NotShared
from autograder.gpu import gpu_name
from autograder.result import Check
from autograder.sandbox import Outcome, Sandbox
from autograder.speed import judging, lock
from autograder.speed.measured import Measured
from autograder.speed.referee import Gone, Referee, Wrong
from autograder.speed.workloads import WORKLOADS
from autograder.submission import Submission
from autograder.verdict import Evidence, Judge

FIRST_SECONDS = 120.0  # for the first call: compiling and tuning
TURN_SECONDS = 20.0
LIMIT_SECONDS = 180.0  # for the whole run
UNFIT = "Unfit"  # what worker/contest.py raises
TENSOR_CORES = (8, 0)  # the compute capability from which on Triton multiplies on tensor cores


@dataclass(frozen=True)
class Timing:
    """What came of one contest: `trouble` is why it was cut short, if it was."""

    measured: Measured
    outcome: Outcome
    trouble: Gone | Wrong | None


def speed_check(
    submission: Submission,
    step: course.Step,
    sandbox: Sandbox,
    threshold: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Check, dict | None]:
    """The check, and what was measured where something was.

    `threshold` is a share of the library's speed, and the workload's own if None; 0 asks for none.
    """
    try:
        timing = timed(submission, step, sandbox, progress)
    except (MemoryError, torch.OutOfMemoryError):
        text = "this GPU has too little memory for the size at which this step is timed"
        return Check("speed", "speed", "not_measured", text), None
    except NotShared as error:
        text = f"this GPU's driver does not share memory between processes: {error}"
        return Check("speed", "speed", "not_measured", text), None
    return verdict(submission, step, timing, threshold)


def timed(
    submission: Submission,
    step: course.Step,
    sandbox: Sandbox,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Timing:
    """One contest. Raises MemoryError or torch.OutOfMemoryError where the GPU has too little for it,
    and NotShared where two processes cannot share its memory."""
    trouble = None
    workload = WORKLOADS[step.name]
    with lock.alone(lambda: progress(0, 1)), Referee(workload) as referee:
        job = {
            "code": submission.payload(step.name),
            "allowed": sorted(step.task.allowed),
            "more": [],
            "named": workload.named,
            "backward": workload.backward,
            "kernel": True,
            "gpu": True,
            "wall_seconds": LIMIT_SECONDS,
            "cpu_seconds": int(LIMIT_SECONDS),
            **referee.describe(),
        }
        run: Future[Outcome] = Future()
        threading.Thread(target=_run, args=(run, sandbox.gpu, job, referee), daemon=True).start()
        referee.contestant = run
        try:
            measured = referee.warm_up()
            referee.first_call(measured, FIRST_SECONDS)
            referee.measure(measured, TURN_SECONDS, progress)
        except (Gone, Wrong) as error:
            trouble = error
        finally:
            referee.stop()
        outcome = run.result()
        if trouble is None:
            referee.look_back(measured)
        return Timing(measured, outcome, trouble)


def verdict(
    submission: Submission, step: course.Step, timing: Timing, threshold: float | None = None
) -> tuple[Check, dict | None]:
    """As `speed_check`, of a contest that has been."""
    workload, outcome = WORKLOADS[step.name], timing.outcome
    if threshold is None:
        threshold = workload.threshold
    if workload.tensor_cores and torch.cuda.get_device_capability() < TENSOR_CORES:
        threshold = 0.0  # Triton multiplies without tensor cores there, and the library with them
    check = Check("speed", "speed", "failed")
    told = outcome.account
    if told is not None and told.error and told.error.type == UNFIT:
        check.message = f"At the timed size the result is not as asked for: {told.error.message}."
        return check, None
    if Judge(submission, step.name, step.task.kernel).troubled(Evidence(None, check, outcome)):
        check.kind, check.message = "speed", f"In the timed calls: {check.message}"
        return check, None
    foreign = judging.foreign_kernel(told, step.task.allowed)
    if isinstance(timing.trouble, Wrong):
        check.message = f"A result of the timed calls is not right. {timing.trouble}"
    elif timing.trouble is not None:
        check.status, check.message = "timed_out", "A turn of timed calls did not come to its end."
    elif foreign:
        check.status = "refused"
        check.message = f"In the timed calls the GPU ran `{foreign}`, which is no kernel of yours."
    elif not told.launched:
        check.status = "refused"
        check.message = "In the timed calls no kernel of yours was launched."
    else:
        found = judging.performance(workload, timing.measured, told, gpu_name(), threshold)
        return judging.judge(workload, timing.measured, found), found
    return check, None


def _run(run: Future, gpu: Sandbox, job: dict, referee: Referee) -> None:
    try:
        run.set_result(gpu.run(job, referee.mailbox, account.parse_contest, referee.memory.fd))
    except BaseException as error:  # noqa: BLE001 - the waiting thread gets it
        run.set_exception(error)
