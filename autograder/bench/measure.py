"""One part of the table: every kernel's result is checked, then all right ones are timed in turn.

Must never time a kernel whose result is wrong.
"""

import time
from collections.abc import Callable

import torch

from autograder.bench import clock, results
from autograder.bench.plan import LIBRARY, NAIVE, Part
from autograder.bench.shapes import group

CHECKED_ROWS = 256
# Ticks of one kernel: its check, and its rounds by two clocks.
TICKS = 1 + 2 * clock.ROUNDS


def relative_error(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> float:
    """Frobenius norm of the error over that of the float64 product, on up to 256 rows."""
    count = min(CHECKED_ROWS, a.shape[0])
    rows = torch.linspace(0, a.shape[0] - 1, count, device=a.device).long()
    exact = a[rows].double() @ b.double()
    return ((c[rows].double() - exact).norm() / exact.norm()).item()


def examine(function: Callable, a: torch.Tensor, b: torch.Tensor, limit: float) -> dict:
    """Calls a kernel once and judges its result.

    {"status", "first_call_s"} and either "relative_error" or "message". The seconds hold whatever a
    first call does: compiling what nobody has compiled yet, loading it, tuning. Status is "right",
    "wrong" or "failed", which means that it raised: a GPU can have too little room for a tile.
    """
    M, N = a.shape[0], b.shape[1]
    # The allocator hands out freed memory again, and that may hold the product of the kernel before.
    used = torch.full((M, N), torch.nan, device=a.device, dtype=a.dtype)
    del used
    begin = time.perf_counter()
    try:
        c = function(a, b)
        if a.is_cuda:
            torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 - whatever a kernel raises goes into its row
        return {"status": "failed", "first_call_s": None, "message": one_line(error)}
    found = {"status": "right", "first_call_s": round(time.perf_counter() - begin, 3)}
    if tuple(c.shape) != (M, N) or c.dtype != a.dtype:
        told = f"{tuple(c.shape)}, {c.dtype} came; {(M, N)}, {a.dtype} was expected"
        return {**found, "status": "wrong", "message": told}
    error = relative_error(c, a, b)
    found["relative_error"] = float(f"{error:.3g}")
    if not error <= limit:
        told = f"relative error {error:.3g}; at most {limit:.3g} was expected"
        return {**found, "status": "wrong", "message": told}
    return found


def one_line(error: Exception) -> str:
    """The kind of an exception and the first line of what it says."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first}".removesuffix(": ")


def measure(part: Part, functions: dict, tuners: dict, tick=clock.nothing) -> list[dict]:
    """A row for each kernel of a part; `tick` is called after every step of the work.

    Raises RuntimeError if the GPU gives up while kernels are timed that had run before.
    """
    precision, shape = part.precision, part.shape
    torch.backends.cuda.matmul.allow_tf32 = precision.tf32
    dtype = getattr(torch, precision.dtype)
    a, b = clock.draw(shape, dtype)
    examined = {}
    for name in part.kernels:
        examined[name] = examine(functions[name], a, b, precision.limit(shape.K))
        tick()
    chosen = {
        name: str(tuner.best_config)
        for name, tuner in tuners.items()
        if name in examined and examined[name]["status"] == "right"
    }
    del a, b
    right = {n: functions[n] for n in part.kernels if examined[n]["status"] == "right"}
    on_gpu = {n: f for n, f in right.items() if n != NAIVE}
    times = clock.time_graphs(on_gpu, shape, dtype, tick)
    eager = clock.time_eager(on_gpu, shape, dtype, tick)
    if NAIVE in right:
        times[NAIVE] = eager[NAIVE] = clock.time_host(right[NAIVE], shape, dtype, tick)
    return rows(part, examined, times, eager, chosen)


def rows(part: Part, examined: dict, times: dict, eager: dict, chosen: dict) -> list[dict]:
    """The rows of a part, from what was found out about its kernels. A wrong one has no time."""
    library = {"ms": None, "eager_ms": None}
    if LIBRARY in times:
        measured = results.timing(part.shape, times[LIBRARY], eager[LIBRARY], library)
        library = {field: measured[field] for field in library}
    found = []
    for name in part.kernels:
        row = {
            "shape": list(part.shape),
            "group": group(part.shape),
            "dtype": part.precision.name,
            "kernel": name,
            **examined[name],
        }
        if name in times:
            row |= results.timing(part.shape, times[name], eager[name], library)
        if name in chosen:
            row["config"] = chosen[name]
        found.append(row)
    return found
