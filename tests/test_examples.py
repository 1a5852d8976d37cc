"""The examples: several ranks joined by gloo, and a Transformer made of the course's kernels."""

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
