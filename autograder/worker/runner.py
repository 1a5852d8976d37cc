"""Runs one case of a submission: maps the operands, calls the function, leaves bytes behind.

This process belongs to the submission: what it reports is evidence for a diagnosis, never a
verdict. It is forked per case and thrown away. Must never see an expected value, a tolerance or a
seed.
"""

import faulthandler
import json
import mmap
import os
import signal
import sys
import warnings
from pathlib import Path

import torch

from autograder.worker import calls, compiler, differentiation, limits, loader
from autograder.worker.address_check import AddressCheck
from autograder.worker.errors import describe_error
from autograder.worker.launches import Launches
from autograder.worker.loop_observer import LoopObserver
from autograder.worker.observer import Observer
from autograder.worker.tuning import Tuning

MAX_REPORT = 2 * 2**20  # a kernel's listing is most of it
MAX_TUNERS = 8
# Bytes of a storage whose elements lie far apart; the others have a few megabytes.
MOSTLY_HOLES = 2**30


def run(job: dict, arena_fd: int, report_fd: int, trace_fd: int, folder: Path) -> None:
    """Never returns. Writes one JSON object to `report_fd`, the result's bytes to the arena."""
    faulthandler.enable(file=trace_fd)
    faulthandler.register(signal.SIGUSR1, file=trace_fd, all_threads=False)
    gpu = job.get("gpu", False)
    limits.apply(job["cpu_seconds"], limits.DATA_BYTES_WITH_GPU if gpu else limits.DATA_BYTES)
    sys.setrecursionlimit(1000)
    if "target" in job:
        report = compiler.report(job, folder)
    elif "calls" in job:
        report = calls.report(job, folder)
    elif "pools" in job:
        # Only on a GPU, whose zygote has loaded it: its profiler makes every fork dearer.
        from autograder.worker import contest

        report = contest.report(job, arena_fd, folder)
    else:
        report = _report(job, arena_fd, folder)
    sys.stdout.flush()
    sys.stderr.flush()
    data = json.dumps(report).encode()[:MAX_REPORT]
    while data:
        data = data[os.write(report_fd, data) :]
    os._exit(0)


def _report(job: dict, arena_fd: int, folder: Path) -> dict:
    warnings.simplefilter("default")
    arena = job["arena"]
    memory = mmap.mmap(arena_fd, arena["size"])
    gpu = job.get("gpu", False)
    places = [arena["operands"], *arena["before"]]
    operands, *before = [[_operand(memory, place) for place in call] for call in places]
    backward, more, named = arena["backward"], job["more"], job["named"]
    hosts = operands
    if gpu:
        try:
            operands, *before = [
                [_on_gpu(tensor) for tensor in call] for call in (operands, *before)
            ]
        except torch.OutOfMemoryError:
            return _no_room()
    check = Launches() if gpu else AddressCheck(str(folder), job["order"], job["fill"])
    check.install()
    tuning = Tuning(**job["tuning"])
    tuning.install(stand_in=not gpu)
    given = [operand for call in (operands, *before) for operand in call]
    observe = Observer if job["kernel"] else LoopObserver
    observer = observe(str(folder), given, job["allowed"])
    check.observer = observer
    torch.compile = observer.refuse_compiler
    observer.open_operators()
    report: dict = {"stage": "import", "gradients": []}
    try:
        function = loader.load(job["code"], folder)
        report["stage"] = "call"
        with observer:
            for earlier in before:  # in the same process, so that what a call leaves behind shows
                made = differentiation.forward(function, earlier, backward, more, named)
                differentiation.gradients(made, earlier, backward)
            tuning.forget()
            result = differentiation.forward(function, operands, backward, more, named)
            report["stage"] = "backward"
            gradients = differentiation.gradients(result, operands, backward)
        report["stage"] = "result"
        report["result"] = _describe(result, operands)
        report["gradients"] = [_describe(g, operands) for g in gradients]
        if type(result) is torch.Tensor:
            observer.judge(result, "the result")
            _hand_over(memory, arena["result"], result)
        for index, gradient in enumerate(gradients):
            if type(gradient) is torch.Tensor:
                name = arena["operands"][backward["wanted"][index]]["name"]
                observer.judge(gradient, f"the gradient of `{name}`")
                _hand_over(memory, backward["gradients"][index], gradient)
        for host, tensor in zip(hosts, operands):
            if tensor is not host:
                _bring_back(host, tensor)
    except BaseException as error:  # noqa: BLE001 - whatever a submission raises, SystemExit too
        report["error"] = describe_error(error, folder)
    report["refusal"] = observer.refusal
    report["no_kernel"] = observer.no_kernel
    # The interpreter's address check knows more: which store, and where.
    report["overrun"] = gpu and report["stage"] == "result" and observer.overrun()
    report["violations"] = check.violations
    report["unfilled"] = check.unfilled
    report["launches"] = check.launches[:100]
    report["races"] = check.races
    report["hints"] = check.hints
    report["loaded"], report["stored"] = check.loaded, check.stored
    report["tuners"] = list(tuning.tuners.values())[:MAX_TUNERS]
    return report


def _operand(memory: mmap.mmap, place: dict) -> torch.Tensor:
    """A tensor over the arena's memory: its storage is the operand with its margins."""
    storage = torch.frombuffer(
        memory, dtype=getattr(torch, place["dtype"]), count=place["elements"], offset=place["start"]
    )
    return storage.as_strided(place["shape"], place["strides"], place["offset"])


def _on_gpu(tensor: torch.Tensor) -> torch.Tensor:
    """The same view of a copy of its storage on the GPU, margins included.

    Of a storage that is mostly holes only the tensor's own elements are copied.
    """
    storage = tensor.untyped_storage()
    if storage.nbytes() > MOSTLY_HOLES:
        base = torch.empty(
            storage.nbytes() // tensor.element_size(), dtype=tensor.dtype, device="cuda"
        )
    else:
        base = tensor.new_empty(0).set_(storage).cuda()
    view = base.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    if storage.nbytes() > MOSTLY_HOLES:
        view.copy_(tensor.detach())
    return view


def _bring_back(host: torch.Tensor, tensor: torch.Tensor) -> None:
    """What became of an operand's storage, for the grader to compare with what it was."""
    storage = host.untyped_storage()
    if storage.nbytes() <= MOSTLY_HOLES:
        storage.copy_(tensor.untyped_storage())


def _no_room() -> dict:
    """The report of a case whose operands are larger than the GPU's memory."""
    nothing = dict.fromkeys(("violations", "unfilled", "launches", "races", "hints", "tuners"), ())
    error = {"type": "OutOfMemoryError", "message": "", "not_implemented": False}
    error |= {"file": None, "line": None}
    told = {"stage": "operands", "gradients": [], "refusal": None, "no_kernel": False}
    told["overrun"] = False
    return told | nothing | {"error": error, "loaded": 0, "stored": 0}


def _describe(result, operands) -> dict:
    if type(result) is not torch.Tensor:
        return {"type": type(result).__name__}
    shared = {o.untyped_storage().data_ptr(): i for i, o in enumerate(operands)}
    return {
        "type": "Tensor",
        "shape": list(result.shape),
        "dtype": str(result.dtype).removeprefix("torch."),
        "contiguous": result.is_contiguous(),
        "alias": shared.get(result.untyped_storage().data_ptr(), -1),
        "graph": result.requires_grad,
    }


def _hand_over(memory: mmap.mmap, place: dict, result: torch.Tensor) -> None:
    """Copies the result's bytes into the arena, if it is what the arena has room for."""
    if list(result.shape) != place["shape"] or str(result.dtype) != f"torch.{place['dtype']}":
        return
    if result.numel():
        count = result.numel()
        target = torch.frombuffer(memory, dtype=result.dtype, count=count, offset=place["start"])
        target.copy_(result.detach().reshape(-1))
