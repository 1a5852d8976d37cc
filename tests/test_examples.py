"""The examples with several ranks: two processes on the CPU, joined by gloo."""

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
