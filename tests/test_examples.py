"""The examples: several ranks joined by gloo, and a Transformer made of the course's kernels."""

import json
import os
import subprocess
import sys

import pytest

from autograder import course


@pytest.mark.parametrize("name", ["tensor_parallel", "sequence_parallel"])
def test_two_ranks_agree_with_the_whole(name):
    """Each rank compares its part with the library on the whole, and exits with 1 if it differs."""
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run(
        [sys.executable, course.ROOT / "examples" / f"{name}.py"],
        check=False, capture_output=True, text=True, timeout=240, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(line.split(":")[0] for line in done.stdout.splitlines()) == [
        "rank 0 of 2 on cpu",
        "rank 1 of 2 on cpu",
    ]


def test_a_transformer_of_our_kernels_learns_as_pytorchs_does():
    """Its forward and backward passes are the reference solutions'; it exits with 1 if the curves differ."""
    done = subprocess.run(
        [sys.executable, course.ROOT / "examples" / "transformer.py", "--steps", "3"],
        check=False, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    _, *rows = (line.split() for line in done.stdout.splitlines())
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert all(abs(float(theirs) - float(ours)) < 1e-3 for _, theirs, ours in rows)
    assert len({ours for _, _, ours in rows}) == 3  # it does train


def test_the_capstone_benchmark_trains_ours_and_pytorchs_in_16_bits():
    """At toy size, in the interpreter: half the bits move a loss, and ours no more than PyTorch's."""
    code = f"""
import json, sys
sys.path.insert(0, {str(course.ROOT / "benchmarks")!r})
import torch
import capstone
sizes = {{"width": 32, "heads": 2, "layers": 1, "length": 16, "batch": 2, "word": 4}}
rows = capstone.compared(capstone.RUNS, sizes, 4, 1, torch.device("cpu"), torch.float16)
print(json.dumps(rows))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])
    assert [row["run"] for row in rows][0::3] == ["PyTorch", "PyTorch in float32"]
    assert [row["largest_difference"] == 0 for row in rows] == [True, False, False, False]
    for row in rows:
        assert len(row["losses"]) == 4 and row["largest_difference"] < 0.01
        assert row["tokens_per_second"] == pytest.approx(32e3 / row["ms"], rel=0.01, abs=1)
