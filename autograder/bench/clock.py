"""Times calls on a GPU so that they can be compared: in turn, as medians, with cold caches.

Must never print or record: it returns milliseconds.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
import triton

from autograder.bench.results import summary
from autograder.bench.shapes import Shape

ROUNDS = 3
SETS_BYTES = 200e6  # of inputs in a graph: more than three times an H200's L2 cache
MAX_SETS = 32


def nothing() -> None:
    """What a clock tells after each measurement, where nobody asks."""


def interleaved(
    calls: dict[str, Callable], rounds: int = ROUNDS, warmup: int = 25, rep: int = 100
) -> dict[str, dict]:
    """{name: {"ms", "spread"}}: the median of the rounds' medians, and (largest - smallest) / median.

    All calls have a turn in every round, so that a clock that falls or rises meets all of them, and
    every round begins with another, so that none always follows the same one. `do_bench` empties the L2 cache before every call.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in rotated(calls, turn):
            ms = triton.testing.do_bench(calls[name], warmup, rep, return_mode="median")
            times[name].append(ms)
    return {name: summary(found) for name, found in times.items()}


def rotated(names, turn: int) -> list:
    """The names in order, beginning with another one in every turn."""
    names = list(names)
    at = turn * max(1, len(names) // ROUNDS) % len(names)
    return names[at:] + names[:at]


def graph(calls: list[Callable]) -> torch.cuda.CUDAGraph:
    """A CUDA graph of all calls, one after the other. Each must have run before."""
    torch.cuda.synchronize()
    made = torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        for call in calls:
            call()
    return made


def replay_ms(made: torch.cuda.CUDAGraph, calls: int, replays: int = 20) -> float:
    """Median milliseconds of one of the calls in a graph."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(replays)]
    made.replay()
    for start, end in events:
        start.record()
        made.replay()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events) / calls


def draw(shape: Shape, dtype: torch.dtype, device="cuda") -> tuple[torch.Tensor, torch.Tensor]:
    """A (M, K) and B (K, N), random normal."""
    M, N, K = shape
    return (
        torch.randn(M, K, device=device).to(dtype),
        torch.randn(K, N, device=device).to(dtype),
    )


def time_eager(
    functions: dict, shape: Shape, dtype: torch.dtype, tick=nothing
) -> dict[str, list[float]]:
    """Milliseconds of every kernel in every round, by `do_bench` around the plain call."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(ROUNDS):
        a, b = draw(shape, dtype)
        for name in rotated(functions, turn):
            call = partial(functions[name], a, b)
            ms = triton.testing.do_bench(call, warmup=25, rep=60, return_mode="median")
            times[name].append(ms)
            tick()
    return times


def time_graphs(
    functions: dict, shape: Shape, dtype: torch.dtype, tick=nothing
) -> dict[str, list[float]]:
    """The same by CUDA graphs, each replayed for about 20 ms.

    A graph calls its kernel on as many sets of inputs as exceed the L2 cache; the host plays no part.
    """
    M, N, K = shape
    size = dtype.itemsize * (M * K + K * N + M * N)
    sets = max(2, min(MAX_SETS, int(SETS_BYTES / size)))
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(ROUNDS):
        inputs = [draw(shape, dtype) for _ in range(sets)]
        for name in rotated(functions, turn):
            made = graph([partial(functions[name], a, b) for a, b in inputs])
            once = replay_ms(made, sets, replays=1)
            times[name].append(replay_ms(made, sets, max(3, int(20 / (once * sets)))))
            tick()
    return times


def time_host(function: Callable, shape: Shape, dtype: torch.dtype, tick=nothing) -> list[float]:
    """Milliseconds of a function that computes on the CPU, by the host's clock: one call a round."""
    times = []
    for _ in range(ROUNDS):
        a, b = draw(shape, dtype, "cpu")
        begin = time.perf_counter()
        function(a, b)
        times.append(1e3 * (time.perf_counter() - begin))
        tick()
    return times
