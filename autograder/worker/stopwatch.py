"""A device and a clock of its own: work takes the milliseconds that the grader chose, at once.

Time stands still but for what is done. On "gpu", work is queued and the host goes on; synchronising
brings the host to the end of the queue, and events stand in the queue. On "cpu", there is no GPU and
work takes the host's time. So a right measurement is known exactly, and nobody sleeps.
Must never read the real clock.
"""

import time
import timeit

import torch

from autograder.shared import LAUNCH_MS, LOOK_MS


class World:
    """`kind`: "gpu", "cpu", or "" for the real clock and whatever device there is."""

    def __init__(self, kind: str):
        self.kind = kind
        self.now = 1e6  # of the host, milliseconds
        self.free = 0.0  # when the device's queue ends
        self.last = None  # the work that was queued last: its data are in the cache

    def install(self) -> None:
        """Takes over clocks and `torch.cuda` in this process, before the learner's code is loaded."""
        if not self.kind:
            return
        for name in ("perf_counter", "monotonic", "time"):
            setattr(time, name, lambda: self._look() / 1e3)
            setattr(time, f"{name}_ns", lambda: round(self._look() * 1e6))
        timeit.default_timer = time.perf_counter
        time.sleep = self._sleep
        torch.cuda.is_available = torch.accelerator.is_available = lambda: self.kind == "gpu"
        if self.kind == "gpu":
            self._install_gpu()

    def _install_gpu(self) -> None:
        world = self

        class Event(_Event):
            def __init__(self, enable_timing=False, **_):
                super().__init__(world, enable_timing)

        stream = _Stream(world)
        torch.cuda.Event = Event
        torch.cuda.synchronize = torch.accelerator.synchronize = lambda device=None: world.idle()
        torch.cuda.current_stream = torch.cuda.default_stream = lambda device=None: stream
        torch.cuda.device_count = lambda: 1
        torch.cuda.current_device = lambda: 0

    def idle(self) -> None:
        """The host waits for the end of the queue."""
        self.now = max(self.now, self.free)

    def work(self, milliseconds: list[float], again: float | None):
        """A function whose n-th call takes the n-th time, or the last one; `again` where it follows
        a call of itself.
        """
        calls = 0

        def fn():
            nonlocal calls
            took = milliseconds[min(calls, len(milliseconds) - 1)]
            calls += 1
            if again is not None and self.last is fn:
                took = again
            self.last = fn
            self.now += LAUNCH_MS
            self.free = max(self.now, self.free) + took
            if self.kind != "gpu":
                self.idle()

        return fn

    def _look(self) -> float:
        self.now += LOOK_MS
        return self.now

    def _sleep(self, seconds: float) -> None:
        self.now += seconds * 1e3


class _Event:
    """A `torch.cuda.Event`: it happens when all that was queued before it is done."""

    def __init__(self, world: World, enable_timing: bool):
        self._world, self._timing, self._at = world, enable_timing, None

    def record(self, stream=None) -> None:
        self._at = max(self._world.now, self._world.free)

    def synchronize(self) -> None:
        if self._at is not None:
            self._world.now = max(self._world.now, self._at)

    def query(self) -> bool:
        return self._at is None or self._at <= self._world._look()

    def elapsed_time(self, end: "_Event") -> float:
        """Milliseconds. Raises RuntimeError where a GPU's events would."""
        if not (self._timing and end._timing):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if max(self._at, end._at) > self._world.now:
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return end._at - self._at


class _Stream:
    """The one stream of the device."""

    def __init__(self, world: World):
        self._world = world

    def synchronize(self) -> None:
        self._world.idle()

    def query(self) -> bool:
        return self._world.free <= self._world._look()

    def record_event(self, event=None) -> _Event:
        event = event or torch.cuda.Event()
        event.record()
        return event
