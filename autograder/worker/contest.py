"""A timed run: calls the learner's function on the inputs that the referee names, turn by turn.

Inputs lie in memory of the referee's, and results are copied into its slots, so that it can look
after the last call has ended whether all are there and right. Of the time only the referee's own
clock counts; what is told here (events, kernels that ran, operators that were used) can make a result
refused, never accepted. Must never see an expected value or a threshold.
"""

import contextlib
import mmap
from pathlib import Path
from time import sleep

import torch
from torch import Tensor
from torch._C import _len_torch_dispatch_stack as len_torch_dispatch_stack
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from triton.runtime import jit
from triton.runtime.autotuner import Autotuner

from autograder.device_memory import DeviceMemory, Place
from autograder.shared import (
    CALLS,
    DONE,
    NANOSECONDS,
    NEXT,
    ORDER,
    PROFILED,
    READY,
    STOP,
    TURN,
)
from autograder.worker import differentiation, loader
from autograder.worker.errors import describe_error
from autograder.worker.observer import FACTORIES, NO_COMPILER, ORDINARY, at_running_line
from autograder.worker.own_operators import OwnOperators

LOOK_SECONDS = 50e-6
MAX_NAMES = 100

copy_ = Tensor.copy_  # as it was before a submission could exchange it


class Unfit(Exception):
    """The function returned something that is not the result asked for."""


class Watch(OwnOperators):
    """The operators that run during timed calls: `refusal` is the first that is not ordinary.

    Lighter than the observer of the battery, which copies what it follows.
    """

    def __init__(self, folder: str, allowed: list[str]):
        super().__init__()
        self.folder = folder
        self.ordinary = FACTORIES | ORDINARY | set(allowed)
        self.refusal: dict | None = None
        self.tuning = False  # an autotuner's own clock uses operators
        self.launched: set[str] = set()

    def operator(self, func, args, kwargs):
        """Runs an operator of PyTorch's, and notes the first that is not ordinary."""
        name = func.overloadpacket.__name__
        if name not in self.ordinary and not self.tuning and self.refusal is None:
            self.refusal = at_running_line(f"the operator torch.{name}", self.folder)
        return func(*args, **kwargs)

    def install(self) -> None:
        """Takes note of launches and tuning from here on. Once, before the learner's code is loaded."""
        self.open_operators()
        launch, tune, watch = jit.JITFunction.run, Autotuner.run, self

        def launched(function, *args, **kwargs):
            made = launch(function, *args, **kwargs)
            watch.launched.add(getattr(made, "name", function.__name__))
            return made

        def tuned(tuner, *args, **kwargs):
            watch.tuning = True
            try:
                return tune(tuner, *args, **kwargs)
            finally:
                watch.tuning = False

        def refused(*args, **kwargs):
            watch.refusal = watch.refusal or at_running_line("torch.compile", watch.folder)
            raise RuntimeError(NO_COMPILER)

        jit.JITFunction.run, Autotuner.run, torch.compile = launched, tuned, refused


def report(job: dict, arena_fd: int, folder: Path) -> dict:
    """Serves turns until the referee says stop: what it has to tell beside them."""
    told: dict = {"stage": "operands", "error": None, "refusal": None, "tuning_s": 0.0}
    told |= {"launched": [], "kernels": []}
    watch = Watch(str(folder), job["allowed"])
    tuners: list[Autotuner] = []
    kernels: set[str] = set()
    try:
        _serve(job, arena_fd, folder, told, watch, tuners, kernels)
    except BaseException as error:  # noqa: BLE001 - whatever a submission raises, SystemExit too
        told["error"] = describe_error(error, folder)
    told["refusal"] = watch.refusal
    told["launched"] = sorted(watch.launched)[:MAX_NAMES]
    told["kernels"] = sorted(kernels)[:MAX_NAMES]
    told["tuning_s"] = sum(getattr(t, "bench_time", None) or 0.0 for t in tuners)
    return told


def _serve(job, arena_fd, folder, told, watch, tuners, kernels) -> None:
    with mmap.mmap(arena_fd, 8 * job["words"]) as mapped, memoryview(mapped).cast("q") as mailbox:
        torch.cuda.synchronize()  # makes the context, which the memory needs
        memory = DeviceMemory(job["bytes"], job["memory_fd"])
        pools, slots = (
            [[memory.tensor(Place(**place)) for place in row] for row in job[name]]
            for name in ("pools", "slots")
        )
        call = _Caller(job, pools)
        watch.install()
        made = Autotuner.__init__

        def noted(tuner, *args, **kwargs):
            made(tuner, *args, **kwargs)
            tuners.append(tuner)

        Autotuner.__init__ = noted
        function, turn = None, 1
        while True:
            while mailbox[NEXT] not in (turn, STOP):
                sleep(LOOK_SECONDS)
            if mailbox[NEXT] == STOP:
                return
            if function is None:  # not before the referee has timed the library without it
                told["stage"] = "import"
                function = loader.load(job["code"], folder)
                told["stage"] = "call"
            with _profiler(kernels) if mailbox[PROFILED] else contextlib.nullcontext():
                mailbox[READY] = turn
                while mailbox[TURN] != turn:  # without sleep: the clock runs soon
                    if mailbox[NEXT] == STOP:
                        return
                calls, operands = mailbox[CALLS], len(pools)
                order = [list(mailbox[ORDER + i * operands :][:operands]) for i in range(calls)]
                with watch:
                    mailbox[NANOSECONDS] = _timed(call, function, order, slots)
                mailbox[DONE] = turn
            turn += 1


@contextlib.contextmanager
def _profiler(kernels: set[str]):
    """Notes the names of all that runs on the GPU, whoever launched it."""
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
        yield
    kernels.update(e.name for e in profiler.events() if e.device_type == DeviceType.CUDA)


class _Caller:
    """One call with the operands at some indices: the parts of its result."""

    def __init__(self, job: dict, pools: list[list[torch.Tensor]]):
        self.pools, self.more, self.named = pools, job["more"], job["named"]
        wanted = list(range(len(pools) - 1))
        self.backward = {"wanted": wanted, "calls": 1} if job["backward"] else None

    def __call__(self, function, indices: list[int]) -> list:
        tensors = [pool[i] for pool, i in zip(self.pools, indices)]
        if self.backward is None:
            return [function(*tensors, *self.more, **self.named)]
        # Leaves of this call's own: one that two calls share would keep what autograd knows of it.
        tensors = [tensor.detach() for tensor in tensors]
        made = differentiation.forward(function, tensors, self.backward, self.more, self.named)
        return [made, *differentiation.gradients(made, tensors, self.backward)]


def _timed(call: _Caller, function, order: list, slots: list) -> int:
    """Nanoseconds of one turn, by events around it; the device is idle afterwards."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for indices, slot in zip(order, slots):
        made = call(function, indices)
        if len_torch_dispatch_stack() != 1:
            raise Unfit("a dispatch mode of the submission's own was left on")
        _hand_over(made, slot)
    end.record()
    torch.cuda.synchronize()
    return int(1e6 * start.elapsed_time(end))


def _hand_over(made: list, slot: list[torch.Tensor]) -> None:
    if len(made) != len(slot):
        raise Unfit(f"{len(made)} tensors came, {len(slot)} were expected")
    for tensor, place in zip(made, slot):
        if type(tensor) is not torch.Tensor:
            raise Unfit(f"{type(tensor).__name__} came, a torch.Tensor was expected")
        if tensor.shape != place.shape or tensor.dtype != place.dtype:
            came, wanted = (f"{tuple(t.shape)}, {t.dtype}" for t in (tensor, place))
            raise Unfit(f"{came} came, {wanted} was expected")
        if not tensor.is_contiguous():
            raise Unfit("a tensor that is not contiguous came, a new and dense one was expected")
        if tensor.untyped_storage().data_ptr() == place.untyped_storage().data_ptr():
            raise Unfit("memory of an argument came, a newly allocated tensor was expected")
        copy_(place, tensor.detach())
