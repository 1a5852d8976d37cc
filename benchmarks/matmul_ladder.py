"""Times the kernels of chapter 6 against cuBLAS on a GPU, for the chapter's ladder.

    python benchmarks/matmul_ladder.py [--output FILE]

Needs an NVIDIA GPU. Every kernel's result is checked before it is timed, except the one without a
K loop, whose error is recorded: it is there to be wrong. Medians of three interleaved rounds.
"""

import argparse
import statistics
import sys
from functools import partial
from pathlib import Path

import torch
import triton
import triton.language as tl
from recording import MEASUREMENTS, write

from autograder.bench import reference
from autograder.bench.clock import ROUNDS
from autograder.bench.measure import relative_error

SIZES = (1024, 2048, 4096, 8192)


@triton.jit
def _one_step_kernel(a_ptr, b_ptr, c_ptr, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + rows[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + cols[None, :])
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], tl.dot(a, b))


def without_k_loop(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Only the first 128 of K are multiplied: wrong, and therefore fast. Multiples of 128 only."""
    c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=a.dtype)
    grid = (a.shape[0] // 128, b.shape[1] // 128)
    _one_step_kernel[grid](a, b, c, b.shape[1], a.shape[1], BLOCK=128, num_warps=8)
    return c


def measure(n: int, kernels: dict) -> list[dict]:
    """Median milliseconds and TFLOPS of each kernel for one square size, fp16."""
    generator = torch.Generator("cuda").manual_seed(n)
    a, b = (torch.randn(n, n, device="cuda", generator=generator).half() for _ in range(2))
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(ROUNDS):
        for name, kernel in kernels.items():
            times[name].append(triton.testing.do_bench(partial(kernel, a, b), return_mode="median"))
    rows = []
    for name, kernel in kernels.items():
        ms = statistics.median(times[name])
        rows.append(
            {
                "n": n,
                "kernel": name,
                "ms": round(ms, 5),
                "spread": round((max(times[name]) - min(times[name])) / ms, 4),
                "tflops": round(2 * n**3 / ms / 1e9, 1),
                "relative_error": float(f"{relative_error(kernel(a, b), a, b):.3g}"),
            }
        )
    library = next(r["tflops"] for r in rows if r["kernel"] == "cuBLAS")
    return [{**row, "share_of_library": round(row["tflops"] / library, 3)} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "06_matmul_ladder.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("matmul_ladder: no GPU found")
    kernels = {
        "cuBLAS": torch.matmul,
        "triton_matmul": reference.function("triton_matmul"),
        "without a K loop": without_k_loop,
    }
    rows = []
    for n in SIZES:
        rows += measure(n, kernels)
        print(*rows[-len(kernels) :], sep="\n", flush=True)
    right = [r for r in rows if r["kernel"] != "without a K loop"]
    if any(r["relative_error"] > 1e-3 for r in right):
        sys.exit("matmul_ladder: a kernel that should be right is not; nothing was recorded")
    write(output, rows, dtype="float16", timer="triton.testing.do_bench, median of 3 medians")


if __name__ == "__main__":
    main()
