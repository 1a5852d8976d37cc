"""PyTorch's names for any accelerator; a stopwatch of its own.

step: bench_ms
expect: passed
"""

import statistics
import time

import torch


class Stopwatch:
    """Seconds between the beginning and the end of a block, the GPU's work included."""

    def __enter__(self):
        self._wait()
        self._begun = time.monotonic()
        return self

    def __exit__(self, *_):
        self._wait()
        self.seconds = time.monotonic() - self._begun

    def _wait(self):
        if torch.accelerator.is_available():
            torch.accelerator.synchronize()


def bench_ms(fn, warmup, repeats):
    for _ in range(warmup):
        fn()
    watches = []
    for _ in range(repeats):
        with Stopwatch() as watch:
            fn()
        watches.append(watch)
    return 1e3 * statistics.median(watch.seconds for watch in watches)
