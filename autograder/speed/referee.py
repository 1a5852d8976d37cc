"""Measures: the referee's turns with a contestant and with the library, on memory and a clock of its own.

In a turn the inputs are drawn afresh, the contestant is told a secret order of them, and the clock runs
from then until it says that it is done. A draw that takes longer than with the GPU to itself counts as
well: a GPU works for one process at a time, and who computes meanwhile delays it. At once the results are taken away, in another secret order,
and every one is compared. The time of a call is the slope between an empty turn and one of many calls,
so that what a turn costs beside its calls drops out; not more than a handshake can take, or work could
be hidden in turns that do not count. The library has its turns in between, with and without the copy
of its results that a contestant has to make: the difference is what that copy costs.
Must never run learner code, and never count a call whose result was not looked at.
"""

import contextlib
import math
import os
import secrets
import statistics
import struct
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

import torch

from autograder import formats
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
from autograder.speed import answers
from autograder.speed.workloads import Workload

ROUNDS = (5, 6, 7)  # how many there are is drawn, so that nobody can wait for the last one
PROFILED_TURNS = 2  # after the rounds
HANDSHAKE = 150e-6  # seconds that may be taken off a turn because an empty one takes them, too
TURN_SECONDS = 8e-3  # so that a jitter of microseconds does not show
FEWEST, MOST = 8, 64  # calls of a turn
MEMORY = 0.5  # of what is free, for results
ALIGNMENT = 512  # bytes
LOOKS = 2000  # at the mailbox, between two looks at whether the contestant is still there
COPIED = 2**28  # bytes, to measure the bandwidth
PRODUCT = 4096  # to measure the product rate


class Gone(Exception):
    """The contestant ended, or took too long over a turn, before it was told to stop."""


class Wrong(Exception):
    """A timed result is not right; says what is wrong with it."""


@dataclass
class Measured:
    """Seconds of one call, a list entry for each round; `events` are the contestant's own."""

    calls: list[float] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)
    copies: list[float] = field(default_factory=list)  # what taking a result away adds to a call
    profiled: list[float] = field(default_factory=list)  # calls that a profiler watched
    alone: float = 0.0  # of the reference, before there was a contestant
    after: float = 0.0  # of the reference, when the contestant is gone
    reference_bytes: int = 0  # that one call of it moves
    first_call_s: float = 0.0
    bandwidth: float = 0.0  # bytes a second, read and written
    product_rate: float = 0.0  # operations a second

    @property
    def copy(self) -> float:
        """Seconds that taking a result out of the contestant's hands adds to a call."""
        return max(0.0, statistics.median(self.copies))


class Referee:
    """The memory, the mailbox and the clock of one timing. Use as a context manager.

    Raises MemoryError where the GPU has too little for the workload.
    """

    def __init__(self, workload: Workload):
        self.workload = workload
        self.library = answers.library(workload)
        self.reference, self.reference_bytes = answers.reference(workload)
        try:
            self.many = _calls(workload, self.reference)
        except torch.OutOfMemoryError:
            raise MemoryError("this GPU's memory does not suffice") from None
        self._random = secrets.SystemRandom()
        self._generator = torch.Generator("cuda")
        entries = self.many if len(workload.operands) == 1 else _root(self.many)
        end, self.pools, self.slots = 0, [], []

        def place(shape, dtype) -> Place:
            nonlocal end
            made = Place(end, shape, dtype)
            size = formats.itemsize(dtype)
            for n in shape:
                size *= n
            end += -(-size // ALIGNMENT) * ALIGNMENT
            return made

        for shape in workload.operands:
            self.pools.append([place(shape, workload.dtype) for _ in range(entries)])
        for _ in range(self.many):
            self.slots.append([place(shape, workload.out) for shape in workload.results])
        try:
            torch.cuda.synchronize()  # makes the context
            self.memory = DeviceMemory(end)
            self._inputs = [[self.memory.tensor(p) for p in pool] for pool in self.pools]
            self._outputs = [[self.memory.tensor(p) for p in slot] for slot in self.slots]
            self._taken = [[torch.empty_like(part) for part in slot] for slot in self._outputs]
        except torch.OutOfMemoryError:
            raise MemoryError("this GPU's memory does not suffice") from None
        self.words = ORDER + self.many * len(self.pools)
        self.mailbox = os.memfd_create("autograder-mailbox", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(self.mailbox, 8 * self.words)
        self._turn = 0
        self._drawing = 0.0  # the longest that drawing all inputs takes with the GPU to itself
        self.contestant: Future | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        torch.cuda.synchronize()
        self._inputs = self._outputs = self._taken = []
        self.memory.close()
        os.close(self.memory.fd)
        os.close(self.mailbox)
        torch.cuda.empty_cache()

    def describe(self) -> dict:
        """What the contestant may know: where pools and slots lie in the memory."""
        return {
            "words": self.words,
            "bytes": self.memory.size,
            "pools": [[_told(p) for p in pool] for pool in self.pools],
            "slots": [[_told(p) for p in slot] for slot in self.slots],
        }

    # --- measuring ----------------------------------------------------------------------------

    def warm_up(self) -> Measured:
        """Before there is a contestant: the GPU's roofs, and the library with the GPU to itself."""
        measured = Measured(
            reference_bytes=self.reference_bytes,
            bandwidth=_bandwidth(),
            product_rate=_product_rate(self.workload),
        )
        self._own_turns(self.library, copied=True)  # loads what the library has to load
        self._drawing = max(self._draw_seconds() for _ in range(5))
        measured.alone = self._alone()
        return measured

    def first_call(self, measured: Measured, seconds: float) -> None:
        """The contestant's first call: compiling, tuning, running once. Raises Gone or Wrong."""
        measured.first_call_s, _ = self._contestant(1, seconds)

    def measure(self, measured: Measured, seconds: float, tick: Callable[[int, int], None]) -> None:
        """All rounds; a turn may take `seconds`. Raises Gone or Wrong."""
        self._contestant(1, seconds)
        rounds = self._random.choice(ROUNDS)
        for done in range(rounds):
            tick(done, rounds)
            empty, _ = self._contestant(0, seconds)
            taken, by_events = self._contestant(self.many, seconds)
            measured.calls.append((taken - min(empty, HANDSHAKE)) / self.many)
            measured.events.append(by_events / self.many)
            measured.reference.append(self._own_turns(self.reference))
            with_copy, without = (self._own_turns(self.library, c) for c in (True, False))
            measured.copies.append(with_copy - without)
        # Last, since a process that has been profiled stays slower.
        for _ in range(PROFILED_TURNS):
            taken, _ = self._contestant(self.many, seconds, profiled=True)
            measured.profiled.append(taken / self.many)
        tick(rounds, rounds)

    def stop(self) -> None:
        """Tells the contestant that there are no more turns."""
        with contextlib.suppress(Gone):
            self._write(NEXT, STOP)

    def look_back(self, measured: Measured) -> None:
        """When the contestant is gone: the reference with the GPU to itself again."""
        measured.after = self._alone()

    def _draw_seconds(self) -> float:
        begin = time.perf_counter()
        self._draw()
        return time.perf_counter() - begin

    def _alone(self) -> float:
        return statistics.median(self._own_turns(self.reference) for _ in range(3))

    # --- turns --------------------------------------------------------------------------------

    def _draw(self) -> int:
        """New inputs, and the seed that they come from."""
        seed = secrets.randbelow(2**62)
        for position, pool in enumerate(self._inputs):
            for index, tensor in enumerate(pool):
                self._fill(tensor, seed, position, index)
        torch.cuda.synchronize()
        return seed

    def _empty_slots(self) -> None:
        for slot in self._outputs:
            for part in slot:
                part.fill_(float("nan"))
        torch.cuda.synchronize()

    def _order(self, calls: int) -> list[list[int]]:
        """Which inputs each call gets: every time others, of two operands and more another pair."""
        entries = len(self._inputs[0])
        if len(self._inputs) == 1:
            return [[i] for i in self._random.sample(range(entries), calls)]
        pairs = self._random.sample(range(entries * entries), calls)
        return [
            [(pair // entries + k * (pair % entries)) % entries for k in range(len(self._inputs))]
            for pair in pairs
        ]

    def _fill(self, tensor: torch.Tensor, seed: int, position: int, index: int) -> None:
        self._generator.manual_seed((seed + 1000 * position + index) % 2**62)
        tensor.normal_(generator=self._generator)

    def _contestant(
        self, calls: int, seconds: float, profiled: bool = False
    ) -> tuple[float, float]:
        """One turn: seconds by this clock, and by the contestant's own. Every result is looked at."""
        order = self._order(calls)
        self._turn += 1
        self._write(CALLS, calls)
        self._write(PROFILED, int(profiled))
        self._write(NEXT, self._turn)
        self._wait(READY, seconds)
        self._empty_slots()
        begin = time.perf_counter()
        seed = self._draw()
        self._write(ORDER, *(index for indices in order for index in indices))
        drawn = time.perf_counter()
        self._write(TURN, self._turn)
        self._wait(DONE, seconds)
        taken = time.perf_counter() - drawn + max(0.0, drawn - begin - self._drawing)
        self._take(calls)
        self._look(seed, order)
        return taken, 1e-9 * self._read(NANOSECONDS)

    def _wait(self, word: int, seconds: float) -> None:
        deadline = time.perf_counter() + seconds
        while True:
            for _ in range(LOOKS):
                if self._read(word) == self._turn:
                    return
            if self.contestant.done() or time.perf_counter() > deadline:
                raise Gone

    def _take(self, calls: int) -> None:
        """Results, away from where the contestant can still write, in an order it cannot know."""
        for call in self._random.sample(range(calls), calls):
            for mine, part in zip(self._taken[call], self._outputs[call]):
                mine.copy_(part)
        torch.cuda.synchronize()

    def _look(self, seed: int, order: list[list[int]]) -> None:
        inputs = [torch.empty_like(pool[0]) for pool in self._inputs]
        for call, indices in enumerate(order):
            # Drawn once more: what lies in the pools is no longer only the referee's.
            for position, (tensor, index) in enumerate(zip(inputs, indices)):
                self._fill(tensor, seed, position, index)
            trouble = answers.wrong(self.workload, inputs, self._taken[call])
            if trouble:
                raise Wrong(trouble)

    def _own_turns(self, function: Callable, copied: bool = False) -> float:
        """Seconds of one call of a trusted function, with a copy of its results or without."""
        order = self._order(self.many)
        self._draw()
        begin = time.perf_counter()
        for indices, slot in zip(order, self._outputs):
            made = function(*(pool[i] for pool, i in zip(self._inputs, indices)))
            if copied:
                for part, result in zip(slot, made):
                    part.copy_(result)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / self.many

    def _write(self, word: int, *values: int) -> None:
        """Raises Gone where the mailbox is sealed, because the run has ended."""
        try:
            os.pwrite(self.mailbox, struct.pack(f"{len(values)}q", *values), 8 * word)
        except PermissionError:
            raise Gone from None

    def _read(self, word: int) -> int:
        return struct.unpack("q", os.pread(self.mailbox, 8, 8 * word))[0]


def _calls(workload: Workload, reference: Callable) -> int:
    """The calls of a long turn: enough for TURN_SECONDS of the reference, as far as memory allows."""
    seconds = _seconds(workload, reference)
    torch.cuda.empty_cache()
    size = formats.itemsize(workload.out) * sum(map(math.prod, workload.results))
    each = 2 * size  # where a result is written, and where it is taken to
    if len(workload.operands) == 1:
        each += workload.bytes - size
    room = int(MEMORY * torch.cuda.mem_get_info()[0] / each)
    calls = min(room, MOST, max(FEWEST, math.ceil(TURN_SECONDS / seconds)))
    if calls < FEWEST:
        raise MemoryError("this GPU's memory does not suffice")
    return calls


def _seconds(workload: Workload, reference: Callable) -> float:
    dtype = getattr(torch, workload.dtype)
    operands = [torch.randn(s, device="cuda").to(dtype) for s in workload.operands]
    return _fastest(lambda: reference(*operands))


def _told(place: Place) -> dict:
    return {"start": place.start, "shape": list(place.shape), "dtype": place.dtype}


def _root(n: int) -> int:
    """The least number whose square is at least n."""
    return next(i for i in range(1, n + 1) if i * i >= n)


def _fastest(call: Callable[[], object]) -> float:
    """Seconds of the fastest of some calls, by events."""
    call()
    times = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(1e-3 * start.elapsed_time(end))
    return min(times)


def _bandwidth() -> float:
    """Bytes a second that this GPU reads and writes when it copies."""
    source = torch.empty(COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * COPIED / _fastest(lambda: target.copy_(source))


def _product_rate(workload: Workload) -> float:
    """Operations a second of the library's product of zeros, which draws the least power."""
    dtype = getattr(torch, workload.dtype)
    a = torch.zeros(PRODUCT, PRODUCT, dtype=dtype, device="cuda")
    return 2 * PRODUCT**3 / _fastest(lambda: a @ a)
