"""Runs a product that reads past its operands under compute-sanitizer: what is seen, and when.

    python benchmarks/sanitizer.py [--output FILE]

Needs an NVIDIA GPU and compute-sanitizer. At 1023³ the last tile reads past A and B. PyTorch's
caching allocator hands out pieces of larger blocks, and a read in the rest of a block is no error to
the hardware; PYTORCH_NO_CUDA_MEMORY_CACHING=1 gives every tensor a block of its own.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from recording import MEASUREMENTS, write

N = 1023
BLOCK_M, BLOCK_N, BLOCK_K = 128, 64, 32
TIMEOUT = 150  # seconds; the tool checks every access


@triton.jit
def _matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    N,
    MASK_ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, N, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K)
        in_a = (ks < N)[None, :]
        in_b = (ks < N)[:, None]
        if MASK_ROWS:
            in_a = in_a & (rows < N)[:, None]
            in_b = in_b & (cols < N)[None, :]
        a = tl.load(a_ptr + rows[:, None] * N + ks[None, :], mask=in_a, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=in_b, other=0.0)
        acc = tl.dot(a, b, acc)
    in_c = (rows < N)[:, None] & (cols < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=in_c)


def child(mask_rows: bool) -> None:
    """One launch; prints one line of JSON on the result."""
    a, b = (torch.randn(N, N, device="cuda") for _ in range(2))
    c = torch.empty(N, N, device="cuda")
    grid = (triton.cdiv(N, BLOCK_M), triton.cdiv(N, BLOCK_N))
    found = {"relative_error": None, "python_error": ""}
    try:
        _matmul_kernel[grid](a, b, c, N, mask_rows, BLOCK_M, BLOCK_N, BLOCK_K, num_warps=4)
        torch.cuda.synchronize()
        # On the CPU, so that the tool need not watch the library as well.
        exact = a.cpu().double() @ b.cpu().double()
        error = (c.cpu().double() - exact).norm() / exact.norm()
        found["relative_error"] = float(f"{error.item():.3g}")
    except RuntimeError as error:
        found["python_error"] = str(error).splitlines()[0]
    print(json.dumps(found))


def run(tool: bool, caching: bool, mask_rows: bool) -> dict:
    """One process: whether it ran, whether its result was right, and what the tool reported."""
    environment = dict(os.environ)
    if not caching:
        environment["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    watched = ["compute-sanitizer", "--tool", "memcheck", "--print-limit", "3"] if tool else []
    command = [*watched, sys.executable, __file__, "--child", "masked" if mask_rows else "unmasked"]
    row = {"tool": tool, "caching_allocator": caching, "masks_along_m_and_n": mask_rows}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**row, "remark": f"not finished after {TIMEOUT} s"}
    text = done.stdout + done.stderr
    answers = [line for line in text.splitlines() if line.startswith("{")]
    row |= json.loads(answers[-1]) if answers else {"remark": text[-300:]}
    if tool:
        count = re.search(r"ERROR SUMMARY: (\d+) error", text)
        row["errors"] = int(count[1]) if count else None
        row["first_report"] = _first_report(text)
    return row


def _first_report(text: str) -> list[str]:
    """The tool's first report, without addresses, which differ from run to run."""
    lines = [line.removeprefix("=========").strip() for line in text.splitlines() if "====" in line]
    start = next((i for i, line in enumerate(lines) if line.startswith("Invalid")), None)
    if start is None:
        return []
    return [re.sub(r"0x[0-9a-f]+", "0x…", line) for line in lines[start : start + 5]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "06_sanitizer.json")
    parser.add_argument("--child", choices=("masked", "unmasked"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("sanitizer: no GPU found")
    if arguments.child:
        return child(arguments.child == "masked")
    if shutil.which("compute-sanitizer") is None:
        sys.exit("sanitizer: compute-sanitizer is not on the PATH")
    rows = []
    for tool, caching, masked in (
        (False, True, False),
        (False, False, False),
        (True, True, False),
        (True, False, False),
        (True, False, True),
    ):
        rows.append(run(tool, caching, masked))
        print(rows[-1], flush=True)
    tile = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K}
    write(arguments.output, rows, n=N, dtype="float32", tile=tile)


if __name__ == "__main__":
    main()
