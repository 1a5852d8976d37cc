"""The steps of chapter 10 in plain Python, and what its page concludes from the recorded sweep."""

import json
import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from seeds import SEED

from autograder import values
from autograder.course import ROOT, find_step, load_solution
from autograder.grading import battery

STEPS = ("busiest_sm_loads", "prune_configs", "regret", "bucket")
SEEDS = range(SEED, SEED + 5)
H200 = {"max_shared_mem": 232_448, "multiprocessor_count": 132}


def _answers(function, case) -> list:
    """What a function returns for each call; None where it divides by zero."""
    found = []
    for call in case.calls:
        try:
            found.append(function(*call.arguments, **call.named))
        except ArithmeticError:
            found.append(None)
    return found


def _same(one: list, other: list, case) -> bool:
    return all(
        a is b is None or (a is not None and values.difference(a, b, case.relative) is None)
        for a, b in zip(one, other)
    )


@pytest.mark.parametrize(("name", "seed"), list(product(STEPS, SEEDS)))
def test_every_known_mistake_is_found_and_is_no_other(name, seed):
    """Each is wrong in some case, and told by its own name, as autograder/calls.py counts."""
    task = find_step(name).task
    cases = task.cases(np.random.default_rng(seed))
    right = [[call.expected for call in case.calls] for case in cases]
    answers = [[_answers(wrong, case) for case in cases] for _, wrong in task.mistakes]
    for (cause, _), came in zip(task.mistakes, answers):
        failed = [k for k, case in enumerate(cases) if not _same(right[k], came[k], case)]
        assert failed, cause
        votes = Counter()
        for k in failed:
            alike = [_same(came[k], other[k], cases[k]) for other in answers]
            votes.update(list(dict.fromkeys(c for (c, _), a in zip(task.mistakes, alike) if a)))
        told, count = votes.most_common(1)[0]
        assert told == cause and 2 * count > len(failed), (cause, votes)


@pytest.fixture
def sweep():
    return json.loads((ROOT / "book" / "measurements" / "10_sweep.json").read_text())


def _regret(sweep, shape: str, rule) -> tuple[float, float]:
    """Regret of a rule on one shape, and the share of the timed configs that it keeps."""
    M, N, _ = map(int, shape.split("x"))
    loads = load_solution("busiest_sm_loads")
    times = [row["ms"][shape] for row in sweep["rows"]]
    needed = [loads(M, N, row["BLOCK_M"], row["BLOCK_N"], 132) for row in sweep["rows"]]
    timed = [i for i, time in enumerate(times) if time]
    least = min(needed[i] for i in timed)
    kept = [i for i in timed if rule(sweep["rows"][i], needed[i] / least, M, N)]
    return load_solution("regret")(times, kept), len(kept) / len(timed)


def test_loads_within_twice_the_least_lose_nothing(sweep):
    for shape in sweep["library_ms"]:
        lost, left = _regret(sweep, shape, lambda row, loads, M, N: loads <= 2)
        assert lost == 0 and left < 0.75, shape
    lost, _ = _regret(sweep, "8x4096x4096", lambda row, loads, M, N: loads <= 1.5)
    assert lost > 0.03


def test_a_program_for_every_sm_is_a_bad_rule(sweep):
    def rule(row, loads, M, N):
        return -(-M // row["BLOCK_M"]) * -(-N // row["BLOCK_N"]) >= 132

    assert _regret(sweep, "4096x4096x4096", rule)[0] == 0
    assert _regret(sweep, "128x4096x4096", rule)[0] > 0.1
    assert _regret(sweep, "8x4096x4096", rule)[0] == math.inf


def test_triton_accepts_the_pruning(monkeypatch):
    """As `early_config_prune` of a tuner: called by Triton, with the launch's own arguments."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    prune_configs = load_solution("prune_configs")
    import torch
    import triton
    import triton.language as tl

    def kernel(a_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        tl.store(a_ptr, BLOCK_M)

    tiles = [(128, 256, 64), (16, 16, 32), (256, 256, 256)]
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    configs = [triton.Config(dict(zip(names, t)), num_warps=8) for t in tiles]
    timed = []

    def bench(call, quantiles):
        call()
        timed.append(call)
        return [1.0] * len(quantiles)

    def pruned(configs, named_args, **kwargs):
        return prune_configs(configs, named_args, gpu=H200, **kwargs)

    tuner = triton.autotune(
        configs=configs,
        key=["M", "N", "K"],
        do_bench=bench,
        prune_configs_by={"early_config_prune": pruned},
    )(triton.jit(kernel))
    a = torch.zeros(1, dtype=torch.float16)
    tuner[(1,)](a, 4096, 4096, 4096)
    assert tuner.best_config is configs[0] and a.item() == 128
    assert len(timed) <= 1  # one is left; from Triton 3.8 on it is not even timed


@pytest.mark.parametrize("seed", range(54, 60))
def test_configs_of_a_case_are_different(seed):
    """Equal ones cannot be told apart in what comes back: seed 54 once drew two."""
    for case in battery(find_step("prune_configs"), seed):
        for call in case.calls:
            entries = [json.dumps(entry, sort_keys=True) for entry in call.arguments[0].entries]
            assert len(set(entries)) == len(entries)
