"""The referee's turns, held on the CPU: memory that two threads share stands in for a GPU's.

The contestants here are threads that speak the mailbox's language as worker/contest.py does, and
misbehave. What a GPU adds, real contexts and kernels, tests/test_speed.py tries where there is one.
"""

import mmap
import os
import threading
import time
from concurrent.futures import Future

import pytest
import torch

from autograder.shared import CALLS, DONE, NANOSECONDS, NEXT, ORDER, READY, STOP, TURN
from autograder.speed import gpu_limits, referee
from autograder.speed.referee import Gone, Referee, Wrong
from autograder.speed.workloads import COPY, Workload

CALLS_OF_A_TURN = 9
SIZE = 1000
ADD = Workload(
    "vector_add", "float32", {"N": SIZE}, ((SIZE,), (SIZE,)), ((SIZE,),), SIZE, COPY, 0.5
)
SECONDS = 20.0


class HostMemory:
    """As device_memory.DeviceMemory, in the memory of this process."""

    def __init__(self, size):
        self.size, self.fd = size, os.memfd_create("stands-in")
        self._bytes = torch.zeros(size, dtype=torch.uint8)

    def tensor(self, place):
        dtype = getattr(torch, place.dtype)
        end = place.start + dtype.itemsize * torch.Size(place.shape).numel()
        return self._bytes[place.start : end].view(dtype).view(place.shape)

    def close(self):
        self._bytes = None


@pytest.fixture
def on_the_cpu(monkeypatch):
    monkeypatch.setattr(referee, "DEVICE", "cpu")
    monkeypatch.setattr(referee, "DeviceMemory", HostMemory)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(gpu_limits, "calls", lambda *_: CALLS_OF_A_TURN)
    monkeypatch.setattr(gpu_limits, "bandwidth", lambda: 1e9)
    monkeypatch.setattr(gpu_limits, "product_rate", lambda _: 1e9)


class Contestant(threading.Thread):
    """Answers every turn by `act(self, calls)`, and then says that it is done."""

    def __init__(self, judge: Referee, act):
        super().__init__(daemon=True)
        self.act, self.run_ended, self.operands = act, Future(), len(judge.layout.pools)
        self.mailbox = memoryview(mmap.mmap(judge.mailbox, 8 * judge.words)).cast("q")
        self.pools = [[judge.memory.tensor(p) for p in pool] for pool in judge.layout.pools]
        self.slots = [judge.memory.tensor(slot[0]) for slot in judge.layout.slots]
        self.seen = []
        judge.contestant = self.run_ended

    def indices(self, call):
        return list(self.mailbox[ORDER + call * self.operands :][: self.operands])

    def run(self):
        turn = 1
        while True:
            while self.mailbox[NEXT] not in (turn, STOP):
                time.sleep(1e-4)
            if self.mailbox[NEXT] == STOP:
                break
            self.mailbox[READY] = turn
            while self.mailbox[TURN] != turn:
                pass
            begin = time.perf_counter_ns()
            if self.act(self, self.mailbox[CALLS]) == "leave":
                break
            self.mailbox[NANOSECONDS] = time.perf_counter_ns() - begin
            self.mailbox[DONE] = turn
            turn += 1
        self.run_ended.set_result(None)


def honest(contestant, calls):
    for call in range(calls):
        x, y = (pool[i] for pool, i in zip(contestant.pools, contestant.indices(call)))
        contestant.seen.append(tuple(contestant.indices(call)))
        contestant.slots[call].copy_(x + y)


def contest(act):
    with Referee(ADD) as judge:
        contestant = Contestant(judge, act)
        contestant.start()
        measured = judge.warm_up()
        try:
            judge.first_call(measured, SECONDS)
            judge.measure(measured, SECONDS, lambda done, total: None)
        finally:
            judge.stop()
            contestant.join(SECONDS)
        judge.look_back(measured)
        return measured, contestant


def test_an_honest_contestant_is_measured_in_every_round(on_the_cpu):
    measured, _ = contest(honest)
    rounds = len(measured.calls)
    assert rounds in referee.ROUNDS
    assert len(measured.events) == len(measured.reference) == len(measured.copies) == rounds
    assert len(measured.profiled) == referee.PROFILED_TURNS
    assert min(measured.calls) > 0 and measured.alone > 0 and measured.after > 0
    assert measured.reference_bytes == 8 * SIZE


def test_no_two_calls_of_a_turn_get_the_same_inputs_and_orders_differ(on_the_cpu):
    _, contestant = contest(honest)
    turns = [
        tuple(contestant.seen[i : i + CALLS_OF_A_TURN])
        for i in range(2, len(contestant.seen), CALLS_OF_A_TURN)
    ]
    assert all(len(set(turn)) == CALLS_OF_A_TURN for turn in turns)
    assert len(set(turns)) == len(turns)


def one_element_off(contestant, calls):
    honest(contestant, calls)
    if calls > 1:
        contestant.slots[calls // 2][SIZE // 2] += 1


def only_says_done(contestant, calls):
    pass


def same_answer_again(contestant, calls):
    honest(contestant, 1 if calls else 0)
    for call in range(1, calls):
        contestant.slots[call].copy_(contestant.slots[0])


def zeroes_the_pool(contestant, calls):
    for tensor in (*contestant.pools[0], *contestant.pools[1]):
        tensor.zero_()
    for call in range(calls):
        contestant.slots[call].zero_()


def last_call_too_late(contestant, calls):
    honest(contestant, max(0, calls - 1))


@pytest.mark.parametrize(
    "act",
    [one_element_off, only_says_done, same_answer_again, zeroes_the_pool, last_call_too_late],
)
def test_results_that_are_not_right_when_it_says_done_are_found(act, on_the_cpu):
    with pytest.raises(Wrong, match="elements are wrong"):
        contest(act)


def test_a_contestant_that_leaves_is_missed_at_once(on_the_cpu):
    with pytest.raises(Gone):
        contest(lambda contestant, calls: "leave")


def test_an_empty_turn_takes_off_no_more_than_a_handshake(on_the_cpu):
    """Whoever sleeps where nothing is to be computed must not gain by it."""

    def sleeps_in_empty_turns(contestant, calls):
        honest(contestant, calls)
        time.sleep(0.05)

    measured, _ = contest(sleeps_in_empty_turns)
    assert min(measured.calls) * CALLS_OF_A_TURN > 0.05 - referee.HANDSHAKE


def test_what_it_computes_while_inputs_are_drawn_counts(on_the_cpu, monkeypatch):
    """On a GPU that works for one process at a time, it delays the draw."""
    draw = Referee._draw

    def delayed(judge):
        if judge.contestant is not None and judge._turn:
            time.sleep(0.05)
        return draw(judge)

    monkeypatch.setattr(Referee, "_draw", delayed)
    monkeypatch.setattr(Referee, "_own_turns", lambda *_, **__: 1e-3)
    measured, _ = contest(honest)
    assert min(measured.calls) * CALLS_OF_A_TURN > 0.04
