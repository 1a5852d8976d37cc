"""What the tests of the claims share: the interpreter, and kernels compiled for GPUs that are not here.

Triton decides when it is imported, and again for each kernel, whether it interprets. So the variable
is set before the first import, and for each test that defines or loads a kernel.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import course

os.environ["TRITON_INTERPRET"] = "1"
import kernels  # noqa: F401  (imported here, while the variable is set)

del os.environ["TRITON_INTERPRET"]

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _interpreter(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")


@pytest.fixture(scope="session")
def compiled():
    """Compiles kernels of kernels.py: jobs → facts (see compiling.py), all in one process."""
    cache = {}

    def compile_all(*jobs: dict) -> list[dict]:
        keys = [json.dumps(job, sort_keys=True) for job in jobs]
        missing = [json.loads(key) for key in dict.fromkeys(keys) if key not in cache]
        if missing:
            environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
            done = subprocess.run(
                [sys.executable, HERE / "compiling.py", json.dumps(missing)],
                check=True, capture_output=True, text=True, env=environment, timeout=240,
            )  # fmt: skip
            found = json.loads(done.stdout)
            cache.update({json.dumps(j, sort_keys=True): f for j, f in zip(missing, found)})
        return [cache[key] for key in keys]

    return compile_all


@pytest.fixture(scope="session")
def published():
    """Figures that others have published; see the file for where they come from."""
    return _data("published_v100")


@pytest.fixture(scope="session")
def measured():
    """A recorded measurement: the stem of a file in book/measurements → its content."""
    return _data


def _data(name: str) -> dict:
    return json.loads((course.ROOT / "book" / "measurements" / f"{name}.json").read_text())
