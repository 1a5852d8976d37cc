"""Where a learner's kernel stands among the course's recorded ones, by its share of the library.

Reads the records of the book, where the course's files are here. A share carries over from one GPU
to another better than TFLOPS do, but not exactly, so the GPU of the record is always named. Must never
compare shares of two different libraries.
"""

import json
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from autograder import course
from autograder.report.words import share

MEASUREMENTS = course.ROOT / "book" / "measurements"
PRODUCTS = "10_bench.json"
ATTENTION, ATTENTION_BACKWARD = "12_attention.json", "13_attention_backward.json"
# As they stand in the record of the products.
LIBRARY, BEST, IEEE = "cuBLAS", "best of the course", "float32, IEEE"


@dataclass(frozen=True)
class Ladder:
    """Rungs are (share of the library, name), the lowest first."""

    words: str
    gpu: str
    rungs: list[tuple[float, str]]


def place(step: str, performance: dict) -> str:
    """A sentence without its full stop; empty where no ladder is recorded for the step."""
    found = _ladder(step, performance)
    if found is None or not found.rungs:
        return ""
    where = f"ladder of {found.words}, recorded on {found.gpu}"
    at = bisect_left([rung for rung, _ in found.rungs], performance["ratio"])
    told = [f"{name} ({share(rung)})" for rung, name in found.rungs]
    if at == 0:
        return f"{where}: below {told[0]}, its lowest rung"
    if at == len(told):
        return f"{where}: above {told[-1]}, its highest rung"
    return f"{where}: between {told[at - 1]} and {told[at]}"


def _ladder(step: str, performance: dict) -> Ladder | None:
    file, make = LADDERS.get(step, (None, None))
    record = _record(file) if file else None
    return make(record, performance) if record else None


@cache
def _record(file: str) -> dict | None:
    """A record of the book; None without the course's files, as in a container that only grades."""
    try:
        return json.loads((MEASUREMENTS / file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _of_products(dtype: str | None = None) -> Callable[[dict, dict], Ladder | None]:
    """The means over large products, in the precision of that name or in the type of the step."""

    def make(record: dict, performance: dict) -> Ladder | None:
        if LIBRARY not in performance["reference"]:
            return None
        wanted = dtype or performance["dtype"]
        rungs = [
            (row["share_of_library"], row["kernel"])
            for row in record["geometric_means"]
            if (row["group"], row["dtype"]) == ("large", wanted) and row["kernel"] != BEST
        ]
        words = f"large products in {wanted}, with {LIBRARY} as 1.00"
        return Ladder(words, record["environment"]["gpu"], sorted(rungs))

    return make


def _of_attention(record: dict, performance: dict) -> Ladder | None:
    """The times of the recorded shape that the step is timed at, with a causal mask as there."""
    shape, dtype = performance["shape"], performance["dtype"]
    wanted = (shape.get("D"), shape.get("N"), True, dtype)
    ms = {
        row["kernel"]: row["ms"]
        for row in record["rows"]
        if (row["D"], row["N"], row["causal"], row.get("dtype", record.get("dtype"))) == wanted
    }
    # "SDPA cuDNN" is the library of a reference that names cuDNN.
    said = performance["reference"].lower()
    libraries = [k for k in ms if k.startswith("SDPA ") and k.split()[-1].lower() in said]
    if len(libraries) != 1:
        return None
    rungs = [(ms[libraries[0]] / own, kernel) for kernel, own in ms.items()]
    words = f"causal attention in {dtype}, with {libraries[0]} as 1.00"
    return Ladder(words, record["environment"]["gpu"], sorted(rungs))


LADDERS = {
    "triton_matmul": (PRODUCTS, _of_products()),
    "grouped_matmul": (PRODUCTS, _of_products()),
    "autotuned_matmul": (PRODUCTS, _of_products()),
    "persistent_matmul": (PRODUCTS, _of_products()),
    "ieee_matmul": (PRODUCTS, _of_products(IEEE)),
    "flash_attention": (ATTENTION, _of_attention),
    "attention": (ATTENTION_BACKWARD, _of_attention),
}
