"""Times every matmul of the course against cuBLAS on 15 shapes, in fp16 and bf16, by two clocks.

    python benchmarks/matmul_shapes.py [--output FILE]

Needs an NVIDIA GPU. `ms` is the GPU's own time: a CUDA graph for each kernel, the library's too,
that calls it on as many sets of inputs as exceed the L2 cache three times, so the host plays no part.
`eager_ms` is `do_bench` around the plain call, L2 emptied before each: what the host needs for a
launch is hidden only while emptying the cache takes longer. Every round has new random inputs; the
kernels of a round run in turn, and every round begins with another one. Every result is checked
before it is timed. The tuners see 40 ms of every config. Medians of the rounds.
"""

import argparse
import sys
from pathlib import Path

import torch
from recording import MEASUREMENTS, write

from autograder.bench import compiling
from autograder.bench.clock import ROUNDS
from autograder.bench.kernels import kernels
from autograder.bench.measure import measure
from autograder.bench.plan import LIBRARY, Part, names
from autograder.bench.precision import BFLOAT16, FLOAT16
from autograder.bench.results import means
from autograder.bench.shapes import LARGE, SMALL, Shape

EXTRA = (Shape(128, 128, 32768),)  # few tiles and a long sum: in no mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "10_matmul_shapes.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("matmul_shapes: no GPU found")
    parts = [
        Part(precision, shape, (LIBRARY, *names(precision, shape)))
        for precision in (FLOAT16, BFLOAT16)
        for shape in (*LARGE, *SMALL, *EXTRA)
    ]
    compiling.compile_parts(parts)
    torch.manual_seed(10)
    functions, tuners = kernels()
    rows = []
    for part in parts:
        found = measure(part, functions, tuners)
        bad = {r["kernel"]: r["message"] for r in found if r["status"] != "right"}
        if bad:
            sys.exit(f"matmul_shapes: {part.shape}: {bad}; nothing was recorded")
        shown = {r["kernel"]: (r["share_of_library"], r["eager_share_of_library"]) for r in found}
        print(part.shape, part.precision.name, found[0]["tflops"], shown, flush=True)
        rows += found
    graphs, eager = means(rows, "share_of_library"), means(rows, "eager_share_of_library")
    print(*graphs, *eager, sep="\n")
    write(
        output,
        rows,
        geometric_means=graphs,
        eager_geometric_means=eager,
        rounds=ROUNDS,
        timer="ms: CUDA graphs on both sides; eager_ms: do_bench",
    )


if __name__ == "__main__":
    main()
