"""Times fp32 products by precision of the dot, and says what each costs in accuracy.

    python benchmarks/precision.py [--output FILE]

Needs an NVIDIA GPU with TF32 (sm_80 or newer). Medians of three interleaved rounds. Every result is
compared with the float64 product, and tested as a published fp32 test does: allclose with
atol = rtol = 1e-3 against an fp32 product in IEEE arithmetic.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import torch
import triton
import triton.language as tl
from recording import MEASUREMENTS, write

from autograder.bench.clock import interleaved

SIZES = (512, 1023, 2048, 4096)
TOLERANCE = 1e-3  # both absolute and relative, of that test
# Without tensor cores the operands of a dot lie in registers, so the tile is smaller: as in
# chapter 7. Three TF32 products need more registers than one.
TILES = {
    "tf32": ((128, 128, 32), 8),
    "tf32x3": ((128, 64, 32), 8),
    "ieee": ((64, 64, 16), 4),
}


@triton.jit
def _matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PRECISION: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    rows = tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K)
        in_a = (rows[:, None] < M) & (ks[None, :] < K)
        in_b = (ks[:, None] < K) & (cols[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=in_a, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=in_b, other=0.0)
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    in_c = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=in_c)


def dot(precision: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of contiguous fp32 matrices with `tl.dot` in that precision."""
    (block_m, block_n, block_k), warps = TILES[precision]
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    grid = (triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)
    _matmul_kernel[grid](
        a, b, c, M, N, K, block_m, block_n, block_k, precision, num_warps=warps, num_stages=3
    )
    return c


def library(allow_tf32: bool, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """cuBLAS, with or without TF32."""
    torch.backends.cuda.matmul.allow_tf32 = allow_tf32
    return torch.matmul(a, b)


def measure(n: int) -> list[dict]:
    """Speed and accuracy of every precision for one square size."""
    generator = torch.Generator("cuda").manual_seed(n)
    a, b = (torch.randn(n, n, device="cuda", generator=generator) for _ in range(2))
    calls = {
        "cuBLAS, IEEE": partial(library, False, a, b),
        "cuBLAS, TF32": partial(library, True, a, b),
        **{f"tl.dot, {p}": partial(dot, p, a, b) for p in TILES},
    }
    exact = a.double() @ b.double()
    ieee = calls["cuBLAS, IEEE"]()
    rows = []
    for name, timing in interleaved(calls).items():
        result = calls[name]()
        outside = (result - ieee).abs() > TOLERANCE + TOLERANCE * ieee.abs()
        error = (result.double() - exact).norm() / exact.norm()
        rows.append(
            {
                "n": n,
                "kernel": name,
                **timing,
                "tflops": round(2 * n**3 / timing["ms"] / 1e9, 1),
                "relative_error": float(f"{error.item():.3g}"),
                "share_outside_tolerance": float(f"{outside.double().mean().item():.3g}"),
                "passes_published_test": not outside.any().item(),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "07_precision.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("precision: no GPU found")
    rows = []
    for n in SIZES:
        rows += measure(n)
        print(*rows[-5:], sep="\n", flush=True)
    write(output, rows, dtype="float32", tolerance=TOLERANCE, timer="do_bench, median of 3 medians")


if __name__ == "__main__":
    main()
