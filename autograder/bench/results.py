"""Numbers made of measured milliseconds: medians, TFLOPS, shares of the library, means of shares.

Plain arithmetic, without torch. Must never compare two precisions.
"""

import math
import statistics

from autograder.bench.plan import COURSE, LIBRARY
from autograder.bench.shapes import GROUPS, Shape

# A mean of its own: for each shape that kernel of the course which is fastest there.
BEST = "best of the course"


def tflops(shape: Shape, ms: float) -> float:
    """10¹² floating-point operations a second: each of the M·N·K products is one and its addition another."""
    M, N, K = shape
    return 2 * M * N * K / ms / 1e9


def summary(times: list[float]) -> dict:
    """Median and relative spread of some milliseconds, rounded for a data file."""
    ms = statistics.median(times)
    return {"ms": round(ms, 6), "spread": round((max(times) - min(times)) / ms, 4)}


def timing(shape: Shape, times: list[float], eager: list[float], library: dict) -> dict:
    """The measured fields of a row.

    times, eager    milliseconds of the rounds, by the GPU's own time and of the plain call
    library         {"ms", "eager_ms"} of the library for the same shape and precision; or None
    """
    found, plain = summary(times), summary(eager)
    ms, eager_ms = statistics.median(times), statistics.median(eager)
    return {
        **found,
        "tflops": significant(tflops(shape, ms)),
        "share_of_library": _share(library["ms"], ms),
        **{f"eager_{field}": value for field, value in plain.items()},
        "eager_share_of_library": _share(library["eager_ms"], eager_ms),
    }


def significant(value: float) -> float:
    """Rounded to one decimal, or to two significant digits where that would leave less."""
    return round(value, 1) if value >= 10 else float(f"{value:.2g}")


def _share(library: float | None, ms: float) -> float | None:
    return None if library is None else float(f"{library / ms:.4g}")


def means(rows: list[dict], field: str) -> list[dict]:
    """Geometric means of a share by group and type, and that of the course's best kernel per shape.

    Rows without a time are left out, and so is a kernel's mean over a group of which it misses one.
    """
    found = []
    for group in GROUPS:
        for dtype in dict.fromkeys(r["dtype"] for r in rows):
            part = [r for r in rows if (r["group"], r["dtype"]) == (group, dtype)]
            shapes = {tuple(r["shape"]) for r in part}
            shares: dict[str, list[float]] = {}
            best: dict[tuple, float] = {}
            for row in part:
                if row.get(field) is None:
                    continue
                shares.setdefault(row["kernel"], []).append(row[field])
                if row["kernel"] in COURSE:
                    shape = tuple(row["shape"])
                    best[shape] = max(best.get(shape, 0.0), row[field])
            if len(shares.keys() - {LIBRARY}) > 1:
                shares[BEST] = list(best.values())
            for kernel, values in shares.items():
                if len(values) < len(shapes):
                    continue
                mean = math.exp(statistics.fmean(math.log(v) for v in values))
                named = {"group": group, "dtype": dtype, "kernel": kernel}
                found.append({**named, field: round(mean, 4)})
    return found
