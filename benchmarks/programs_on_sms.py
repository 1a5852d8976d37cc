"""Records on which SM every program of a launch ran, and when it began and ended.

    python benchmarks/programs_on_sms.py [--output FILE]

Needs an NVIDIA GPU. Every program notes its SM and the GPU's nanosecond timer, and waits for 100 µs,
so that programs which fit together overlap. Two programs of 32 warps fit an SM with 64.
"""

import argparse
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from recording import MEASUREMENTS, write
from triton.language.extra import cuda

NANOSECONDS = 100_000
# name, grid, warps of a program
LAUNCHES = (
    ("1-D, one program an SM and one more for half of them", (198,), 4),
    ("2-D, 12 by 11", (12, 11), 4),
    ("2-D, 16 by 16", (16, 16), 4),
    ("1-D, more than fit at once", (600,), 32),
)


@triton.jit
def _where_kernel(sm_ptr, begin_ptr, end_ptr, NANOSECONDS: tl.constexpr):
    # Numbered as the hardware numbers them: axis 0 runs fastest.
    pid = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    begin = cuda.globaltimer()
    now = begin
    while now < begin + NANOSECONDS:
        now = cuda.globaltimer()
    tl.store(sm_ptr + pid, cuda.smid())
    tl.store(begin_ptr + pid, begin)
    tl.store(end_ptr + pid, now)


def measure(name: str, grid: tuple[int, ...], warps: int) -> dict:
    """One launch: by program number, its SM, and when it began and ended, in µs from the first."""
    programs = grid[0] * (grid[1] if len(grid) > 1 else 1)
    sm = torch.full((programs,), -1, dtype=torch.int32, device="cuda")
    begin, end = (torch.zeros(programs, dtype=torch.int64, device="cuda") for _ in range(2))
    for _ in range(2):  # the first launch compiles
        _where_kernel[grid](sm, begin, end, NANOSECONDS=NANOSECONDS, num_warps=warps)
        torch.cuda.synchronize()
    first = begin.min()
    return {
        "launch": name,
        "grid": list(grid),
        "num_warps": warps,
        "sm": sm.tolist(),
        "begin_us": [round(t / 1e3, 2) for t in (begin - first).tolist()],
        "end_us": [round(t / 1e3, 2) for t in (end - first).tolist()],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=MEASUREMENTS / "08_programs_on_sms.json")
    output = parser.parse_args().output
    if not torch.cuda.is_available():
        sys.exit("programs_on_sms: no GPU found")
    rows = []
    for launch in LAUNCHES:
        rows.append(measure(*launch))
        shown = {**rows[-1], "sm": rows[-1]["sm"][:16], "begin_us": rows[-1]["begin_us"][:8]}
        print({name: value for name, value in shown.items() if name != "end_us"}, flush=True)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    write(output, rows, multiprocessors=sms, numbered="axis 0 fastest")


if __name__ == "__main__":
    main()
