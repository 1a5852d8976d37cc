"""Runs a softmax whose masked load names no `other`, at widths where that shows and where it hides.

    python benchmarks/softmax_other.py [--output FILE]

Needs an NVIDIA GPU. Rows of random normal numbers, also shifted by -20. A masked lane without
`other` is undefined: what it holds is what this GPU and this compiler left there.
"""

import argparse
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from recording import MEASUREMENTS, write

COLUMNS = (781, 1021, 1024, 1025)
SHIFTS = (0, -20)
ROWS = 1823


@triton.jit
def _softmax_kernel(x_ptr, out_ptr, C, BLOCK: tl.constexpr, OTHER: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    if OTHER:
        x = tl.load(x_ptr + row * C + cols, mask=cols < C, other=float("-inf"))
    else:
        x = tl.load(x_ptr + row * C + cols, mask=cols < C)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * C + cols, e / tl.sum(e, axis=0), mask=cols < C)


def measure(columns: int, shift: float, other: bool) -> dict:
    """How far the result is from the float64 softmax, and whether a usual test accepts it."""
    x = torch.randn(ROWS, columns, device="cuda") + shift
    out = torch.empty_like(x)
    block = triton.next_power_of_2(columns)
    _softmax_kernel[(ROWS,)](x, out, columns, BLOCK=block, OTHER=other)
    exact = torch.softmax(x.double(), dim=1)
    error = (out.double() - exact).abs()
    return {
        "columns": columns,
        "block": block,
        "masked_lanes": block - columns,
        "shift": shift,
        "other": "-inf" if other else "none",
        "largest_error": float(f"{error.max().item():.3g}"),
        "largest_relative_error": float(f"{(error / exact).max().item():.3g}"),
        "smallest_row_sum": float(f"{out.double().sum(dim=1).min().item():.6g}"),
        "passes_allclose_1e-3": torch.allclose(out.double(), exact, atol=1e-3, rtol=1e-3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "05_softmax_other.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("softmax_other: no GPU found")
    torch.manual_seed(5)
    rows = []
    for columns in COLUMNS:
        for shift in SHIFTS:
            for other in (False, True):
                rows.append(measure(columns, shift, other))
                print(rows[-1], flush=True)
    write(output, rows, rows_of_x=ROWS, dtype="float32", seed=5)


if __name__ == "__main__":
    main()
