"""Measures: the referee's turns with a contestant and with the library, on memory and a clock of its own.

In a turn the inputs are drawn afresh, the contestant is told a secret order of them, and the clock
runs from then until it says that it is done. A draw that takes longer than with the GPU to itself
counts as well: a GPU works for one process at a time, and who computes meanwhile delays it. At once
the results are taken away, in another secret order, and every one is compared.

The time of a call is the slope between an empty turn and one of many calls, so that what a turn costs
beside its calls drops out; not more than a handshake can take, or work could be hidden in turns that
do not count. The library has its turns in between, with and without the copy of its results that a
contestant has to make: the difference is what that copy costs.

Must never run learner code, and never count a call whose result was not looked at.
"""

import contextlib
import os
import secrets
import statistics
import struct
import time
from collections.abc import Callable
from concurrent.futures import Future

import torch

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
from autograder.speed import answers, gpu_limits
from autograder.speed.layout import lay_out
from autograder.speed.measured import Measured
from autograder.speed.workloads import Workload

ROUNDS = (5, 6, 7)  # how many there are is drawn, so that nobody can wait for the last one
PROFILED_TURNS = 2  # after the rounds
HANDSHAKE = 150e-6  # seconds that may be taken off a turn because an empty one takes them, too
LOOKS = 2000  # at the mailbox, between two looks at whether the contestant is still there
DEVICE = "cuda"


class Gone(Exception):
    """The contestant ended, or took too long over a turn, before it was told to stop."""


class Wrong(Exception):
    """A timed result is not right; says what is wrong with it."""


class Referee:
    """The memory, the mailbox and the clock of one timing. Use as a context manager.

    Raises MemoryError or torch.OutOfMemoryError where the GPU has too little for the workload.
    """

    def __init__(self, workload: Workload):
        self.workload = workload
        self.library = answers.library(workload)
        self.reference, self.reference_bytes = answers.reference(workload)
        self.many = gpu_limits.calls(workload, self.reference)
        self._random = secrets.SystemRandom()
        self._generator = torch.Generator(DEVICE)
        self.layout = layout = lay_out(workload, self.many)
        # First what gives itself back, should there be no room for the rest. It also makes the context.
        self._taken = [[_empty(place) for place in slot] for slot in layout.slots]
        self.memory = DeviceMemory(layout.size)
        self._inputs = [[self.memory.tensor(p) for p in pool] for pool in layout.pools]
        self._outputs = [[self.memory.tensor(p) for p in slot] for slot in layout.slots]
        self.words = ORDER + self.many * len(layout.pools)
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
        return {"words": self.words, "bytes": self.memory.size, **self.layout.describe()}

    # --- measuring ----------------------------------------------------------------------------

    def warm_up(self) -> Measured:
        """Before there is a contestant: the GPU's roofs, and the library with the GPU to itself."""
        measured = Measured(
            reference_bytes=self.reference_bytes,
            bandwidth=gpu_limits.bandwidth(),
            product_rate=gpu_limits.product_rate(self.workload),
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


def _empty(place: Place) -> torch.Tensor:
    return torch.empty(place.shape, dtype=getattr(torch, place.dtype), device=DEVICE)
