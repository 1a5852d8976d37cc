"""Times the memory-bound reference kernels against a copy: the share of bandwidth they reach.

    python benchmarks/bandwidth.py [--output FILE]

Needs an NVIDIA GPU. Bytes counted are those that must move: every input read once, every output
written once. Medians of three interleaved rounds, L2 emptied before every call.
"""

import argparse
import sys
from pathlib import Path

import torch
from recording import MEASUREMENTS, write

from autograder.bench import reference
from autograder.bench.clock import interleaved

SHAPES = ((4096, 4096), (8192, 4096), (16384, 8192), (65536, 1024), (4096, 32768))


def measure(shape: tuple[int, int], dtype: torch.dtype) -> list[dict]:
    """Rows of a copy, of PyTorch's operators and of the course's, for matrices of one shape."""
    x, y = (torch.randn(shape, device="cuda").to(dtype) for _ in range(2))
    flat_x, flat_y = x.flatten(), y.flatten()
    out = torch.empty_like(x)
    add, softmax = reference.function("vector_add"), reference.function("softmax")
    calls = {
        "copy": (2, lambda: out.copy_(x)),
        "torch add": (3, lambda: torch.add(flat_x, flat_y)),
        "vector_add": (3, lambda: add(flat_x, flat_y)),
        "torch softmax": (2, lambda: torch.softmax(x, dim=1)),
        "softmax": (2, lambda: softmax(x)),
    }
    torch.testing.assert_close(calls["vector_add"][1](), calls["torch add"][1]())
    torch.testing.assert_close(calls["softmax"][1](), calls["torch softmax"][1]())
    found = interleaved({name: call for name, (_, call) in calls.items()})
    rows = []
    for name, (tensors, _) in calls.items():
        gb_per_s = tensors * x.numel() * x.element_size() / found[name]["ms"] / 1e6
        rows.append(
            {
                "shape": list(shape),
                "dtype": str(dtype).removeprefix("torch."),
                "kernel": name,
                **found[name],
                "gb_per_s": round(gb_per_s, 1),
            }
        )
    copy = rows[0]["gb_per_s"]
    return [{**row, "share_of_copy": round(row["gb_per_s"] / copy, 3)} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "05_bandwidth.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("bandwidth: no GPU found")
    rows = []
    for dtype in (torch.float32, torch.float16):
        for shape in SHAPES:
            rows += measure(shape, dtype)
            for row in rows[-5:]:
                print(row, flush=True)
    write(output, rows, timer="do_bench, median of 3 medians")


if __name__ == "__main__":
    main()
