"""The speed check of one step: a referee, a contestant, a verdict.

Must never be asked of a submission that has not passed its battery: what is wrong has no speed.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future

import torch

from autograder import account, course
from autograder.gpu import gpu_name
from autograder.result import Check
from autograder.sandbox import Outcome, Sandbox
from autograder.speed import judging, lock
from autograder.speed.referee import Gone, Measured, Referee, Wrong
from autograder.speed.workloads import WORKLOADS, Workload
from autograder.submission import Submission
from autograder.verdict import Evidence, Judge

FIRST_SECONDS = 120.0  # for the first call: compiling and tuning
TURN_SECONDS = 20.0
LIMIT_SECONDS = 180.0  # for the whole run
UNFIT = "Unfit"  # what worker/contest.py raises
TENSOR_CORES = (8, 0)  # the compute capability from which on Triton multiplies on tensor cores


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
    workload = WORKLOADS[step.name]
    if threshold is None:
        threshold = workload.threshold
    if workload.tensor_cores and torch.cuda.get_device_capability() < TENSOR_CORES:
        threshold = 0.0  # Triton multiplies without tensor cores there, and the library with them
    check = Check("speed", "speed", "not_measured")
    try:
        measured, outcome, trouble = _hold(submission, step, sandbox, workload, progress)
    except MemoryError:
        check.message = "this GPU has too little memory for the size at which this step is timed"
        return check, None
    account_of = outcome.account
    if account_of is not None and account_of.error and account_of.error.type == UNFIT:
        check.status = "failed"
        check.message = (
            f"At the timed size the result is not as asked for: {account_of.error.message}."
        )
        return check, None
    evidence = Evidence(None, check, outcome)
    if Judge(submission, step.name, step.task.kernel).troubled(evidence):
        if check.status == "refused":
            check.message = f"In the timed calls: {check.message}"
        check.kind = "speed"
        return check, None
    foreign = judging.foreign_kernel(outcome.account, step.task.allowed)
    if isinstance(trouble, Wrong):
        check.status = "failed"
        check.message = f"A result of the timed calls is not right. {trouble}"
    elif trouble is not None:
        check.status, check.message = "timed_out", "a turn of timed calls did not come to its end"
    elif foreign:
        check.status = "refused"
        check.message = f"In the timed calls the GPU ran `{foreign}`, which is no kernel of yours."
    elif not outcome.account.launched:
        check.status, check.message = (
            "refused",
            "In the timed calls no kernel of yours was launched.",
        )
    else:
        found = judging.performance(workload, measured, outcome.account, gpu_name(), threshold)
        return judging.judge(workload, measured, found), found
    return check, None


def _hold(
    submission, step, sandbox, workload: Workload, progress
) -> tuple[Measured, Outcome, Exception | None]:
    """One contest: what was measured, how the run ended, and why it was cut short, if it was."""
    trouble = None
    with lock.alone(), Referee(workload) as referee:
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
        measured = referee.warm_up()
        try:
            referee.first_call(measured, FIRST_SECONDS)
            referee.measure(measured, TURN_SECONDS, progress)
            referee.profile(TURN_SECONDS)
        except (Gone, Wrong) as error:
            trouble = error
        referee.stop()
        return measured, run.result(), trouble


def _run(run: Future, gpu: Sandbox, job: dict, referee: Referee) -> None:
    try:
        run.set_result(gpu.run(job, referee.mailbox, account.parse_contest, referee.memory.fd))
    except BaseException as error:  # noqa: BLE001 - the waiting thread gets it
        run.set_exception(error)
