"""Times the first calls in a fresh process: `torch.matmul` and a Triton kernel, cold and warm.

    python benchmarks/first_call.py [--output FILE]

Needs an NVIDIA GPU. The host's clock, waiting for the GPU. Triton's cache is an empty folder in the
first process and is filled in the second. A process has a CUDA context before its first call is timed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import torch
from recording import MEASUREMENTS, write

N = 1024
LATER = 100  # calls behind the median of a warm one


def first_calls(call) -> dict:
    """Milliseconds of the first, the second and the third call, and the median of later ones."""
    times = []
    for _ in range(3 + LATER):
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - started))
    found = dict(zip(("first_ms", "second_ms", "third_ms"), times[:3]))
    found["later_ms"] = statistics.median(times[3:])
    return {name: round(ms, 4) for name, ms in found.items()}


def child() -> None:
    """Prints one line of JSON: what was called, and its times."""
    import reference

    triton_matmul = reference.function("triton_matmul")
    a, b = (torch.randn(N, N, device="cuda").half() for _ in range(2))
    torch.cuda.synchronize()
    calls = {"torch.matmul": torch.matmul, "triton_matmul": triton_matmul}
    print(json.dumps({name: first_calls(partial(call, a, b)) for name, call in calls.items()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "02_first_call.json")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("first_call: no GPU found")
    if arguments.child:
        return child()
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for state in ("empty", "filled"):
            command = [sys.executable, __file__, "--child"]
            environment = {**os.environ, "TRITON_CACHE_DIR": cache}
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
            for name, times in json.loads(done.stdout).items():
                rows.append({"call": name, "triton_cache": state, **times})
                print(rows[-1], flush=True)
    write(arguments.output, rows, n=N, dtype="float16", timer="host clock with synchronize")


if __name__ == "__main__":
    main()
