"""Times calls on a GPU so that they can be compared: in turn, as medians, with cold caches.

Must never print or record: it returns milliseconds.
"""

import statistics
from collections.abc import Callable

import torch
import triton

ROUNDS = 3


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


def summary(times: list[float]) -> dict:
    """Median and relative spread of some milliseconds, rounded for a data file."""
    ms = statistics.median(times)
    return {"ms": round(ms, 6), "spread": round((max(times) - min(times)) / ms, 4)}


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
