"""The whole table, from the first look at this machine to the data that is written and shown.

Must never start a measurement that cannot count: without a GPU, in the interpreter, without the
reference kernels.
"""

import os
import time
from collections.abc import Callable

from autograder import course
from autograder.bench.origin import origin
from autograder.bench.plan import PRECISIONS, STEPS, plan
from autograder.environment import version
from autograder.gpu import has_gpu
from autograder.report.words import label
from autograder.submission import BadInput

TIMER = (
    "ms: the GPU's own time, by CUDA graphs on both sides; eager_ms: do_bench around the plain call; "
    "medians of interleaved rounds; naive_matmul: the host's clock, since it runs on the CPU"
)


def check_steps(names: tuple[str, ...]) -> None:
    """Raises BadInput for a step that is not in the table."""
    for name in names:
        if name not in STEPS:
            raise BadInput(f"bench: {name} is not in the table; its steps are {', '.join(STEPS)}")


def capability() -> tuple[int, int]:
    """The compute capability of the GPU to measure. Raises BadInput where nothing can be measured."""
    if not (course.ROOT / "solutions").is_dir():
        raise BadInput(
            f"bench: the reference kernels are missing (no folder {course.ROOT / 'solutions'}); "
            "run it in a clone of the course"
        )
    if not has_gpu():
        raise BadInput("bench: no GPU found; speed is measured on a GPU only")
    if os.environ.get("TRITON_INTERPRET") == "1":
        raise BadInput(
            "bench: TRITON_INTERPRET=1 is set, so kernels would run on the CPU; unset it and try again"
        )
    import torch

    if not torch.cuda.is_available():
        raise BadInput(
            f"bench: there is a GPU, but torch {version('torch')} cannot use it; "
            "install a build of torch for it (chapter 0)"
        )
    return torch.cuda.get_device_capability()


def run(
    steps: tuple[str, ...], capable: tuple[int, int], progress: Callable[[str, int, int], None]
) -> dict:
    """Compiles, checks and times every part; `progress` is told stage, done and total.

    Returns what `--json` writes. Raises BadInput if the GPU gives up on the way.
    """
    import torch

    from autograder.bench import clock, compiling, kernels, measure, results

    parts = plan(capable, steps)
    begin = time.perf_counter()
    compiling.compile_parts(parts, lambda done, of: progress("compiling", done, of))
    compiled = time.perf_counter() - begin
    torch.manual_seed(10)
    functions, tuners = kernels.kernels()
    rows = []
    for precision in dict.fromkeys(part.precision for part in parts):
        own = [part for part in parts if part.precision == precision]
        ticks = Ticks(precision.name, measure.TICKS * sum(len(p.kernels) for p in own), progress)
        for part in own:
            try:
                rows += measure.measure(part, functions, tuners, ticks)
            except RuntimeError as error:
                told = f"{precision.name}, {label(part.shape)}: {measure.one_line(error)}"
                raise BadInput(f"bench: {told}") from None
            ticks.catch_up(measure.TICKS * len(part.kernels))
        torch.cuda.empty_cache()
    return {
        "environment": origin(" ".join(["python -m autograder bench", *steps])),
        "geometric_means": results.means(rows, "share_of_library"),
        "eager_geometric_means": results.means(rows, "eager_share_of_library"),
        "rounds": clock.ROUNDS,
        "timer": TIMER,
        "compile_s": round(compiled, 1),
        "total_s": round(time.perf_counter() - begin, 1),
        "left_out": [p.name for p in PRECISIONS if capable < p.since],
        "rows": rows,
    }


class Ticks:
    """Counts finished steps of one precision, and tells how many of how many are done."""

    def __init__(self, stage: str, total: int, progress: Callable[[str, int, int], None]):
        self.stage, self.total, self.progress = stage, total, progress
        self.done = self.planned = 0
        progress(stage, 0, total)

    def __call__(self) -> None:
        self.done += 1
        self.progress(self.stage, self.done, self.total)

    def catch_up(self, steps: int) -> None:
        """A part of that many steps is over, also where a wrong kernel was not timed."""
        self.planned += steps
        self.done = self.planned
        self.progress(self.stage, self.done, self.total)
