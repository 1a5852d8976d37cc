"""What the table holds: which kernels are timed for which shape and precision.

Names only; it imports neither torch nor Triton. Must never leave the library out of a part.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autograder.bench.precision import IEEE, PRECISIONS, Precision
from autograder.bench.shapes import LARGE, MODEL, PYTHON, SQUARES, Shape

LIBRARY = "cuBLAS"
# The published benchmark, on the kernel of `grouped_matmul`.
BLOCKWISE = "blockwise, fixed 64"
GROUPED = "grouped, fixed 64"
SOURCE = "the source's 15 configs"
# Chapter 3's three loops: on the CPU, for one tiny size.
NAIVE = "naive_matmul"
IEEE_STEP = "ieee_matmul"
SPLIT_K = "split_k_matmul"
COURSE = ("grouped_matmul", "autotuned_matmul", "persistent_matmul", SPLIT_K)
STEPS = (NAIVE, IEEE_STEP, *COURSE)


@dataclass(frozen=True)
class Part:
    """One shape in one precision, and the names of the kernels that are timed for it in turn."""

    precision: Precision
    shape: Shape
    kernels: tuple[str, ...]


def names(precision: Precision, shape: Shape) -> tuple[str, ...]:
    """The kernels for a shape, without the library.

    Only one kernel of the course promises IEEE accuracy: in all the others, as in the published ones,
    the dot says nothing, and Triton multiplies fp32 in TF32. Split-K is for shapes with few tiles.
    """
    if precision is IEEE:
        return (NAIVE, IEEE_STEP) if shape == PYTHON else (IEEE_STEP,)
    course = [name for name in COURSE if name != SPLIT_K or shape not in LARGE]
    return (BLOCKWISE, GROUPED, SOURCE, *course)


def shapes(precision: Precision) -> tuple[Shape, ...]:
    """The shapes of a precision, in the order of the table."""
    return (*((PYTHON,) if precision is IEEE else ()), *SQUARES, *MODEL)


def plan(capability: tuple[int, int], steps: Iterable[str] = ()) -> list[Part]:
    """All parts that a GPU of this compute capability can compute, or those of some steps only."""
    steps = set(steps)
    parts = []
    for precision in PRECISIONS:
        if capability < precision.since:
            continue
        for shape in shapes(precision):
            kept = [n for n in names(precision, shape) if not steps or n in steps]
            if kept:
                parts.append(Part(precision, shape, (LIBRARY, *kept)))
    return parts
