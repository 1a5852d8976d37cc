"""Times one product on random numbers and on zeros, and logs the GPU's clock and power meanwhile.

    python benchmarks/random_and_zeros.py [--output FILE]

Needs an NVIDIA GPU and nvidia-smi. Three rounds in turn; every stretch lasts about two seconds,
since the clock answers the power within about a second.
"""

import argparse
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import torch
import triton
from recording import MEASUREMENTS, write

N = 8192
ROUNDS = 3
SECONDS = 2.0
SETTLING = 0.7  # seconds at the start of a stretch whose samples are left out


class Log:
    """Asks nvidia-smi again and again while the block runs: median SM clock in MHz, power in W."""

    def __enter__(self):
        self._samples: list[tuple[float, float]] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._settled = time.perf_counter() + SETTLING
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()
        clocks, powers = zip(*self._samples)
        self.clock_mhz, self.power_w = statistics.median(clocks), statistics.median(powers)
        self.samples = len(clocks)

    def _ask(self):
        query = "--query-gpu=clocks.sm,power.draw"
        command = ["nvidia-smi", query, "--format=csv,noheader,nounits", "--id=0"]
        while not self._done.is_set():
            answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            if time.perf_counter() > self._settled:
                clock, power = answer.split(",")
                self._samples.append((float(clock), float(power)))


def stretch(a: torch.Tensor, b: torch.Tensor) -> dict:
    """Milliseconds, clock and power of products of `a` and `b`, back to back."""
    with Log() as log:
        ends = time.perf_counter() + SECONDS
        times = []
        while time.perf_counter() < ends:
            ms = triton.testing.do_bench(lambda: torch.matmul(a, b), return_mode="median")
            times.append(ms)
    ms = statistics.median(times[len(times) // 2 :])
    return {
        "ms": round(ms, 5),
        "tflops": round(2 * N**3 / ms / 1e9, 1),
        "sm_clock_mhz": log.clock_mhz,
        "power_w": round(log.power_w, 1),
        "samples": log.samples,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "02_random_and_zeros.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("random_and_zeros: no GPU found")
    inputs = {
        "random normal": [torch.randn(N, N, device="cuda").half() for _ in range(2)],
        "zeros": [torch.zeros(N, N, device="cuda").half() for _ in range(2)],
    }
    rows = []
    for turn in range(ROUNDS):
        for data, pair in inputs.items():
            rows.append({"round": turn, "data": data, **stretch(*pair)})
            print(rows[-1], flush=True)
    write(output, rows, n=N, dtype="float16", call="torch.matmul", timer="do_bench, medians")


if __name__ == "__main__":
    main()
