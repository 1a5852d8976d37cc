"""Where the inputs and the results of a timing lie in the memory that referee and contestant share.

Must never hold what is only the referee's: the contestant is told all of it.
"""

import math
from dataclasses import asdict, dataclass

from autograder import formats
from autograder.device_memory import Place
from autograder.speed.workloads import Shape, Workload

ALIGNMENT = 512  # bytes


@dataclass(frozen=True)
class Layout:
    """`pools`: for each operand the places of its values to choose from; `slots`: for each call of a
    turn the places of its results; `size` of all in bytes."""

    pools: list[list[Place]]
    slots: list[list[Place]]
    size: int

    def describe(self) -> dict:
        """For the contestant's job."""
        told = asdict(self)
        return {name: told[name] for name in ("pools", "slots")}


def lay_out(workload: Workload, calls: int) -> Layout:
    """Room for `calls` calls, and values enough that no two of them get the same.

    One operand needs a value for each call. Of two and more, every pair is another call.
    """
    end = 0

    def place(shape: Shape, dtype: str) -> Place:
        nonlocal end
        made = Place(end, shape, dtype)
        size = math.prod(shape) * formats.itemsize(dtype)
        end += -(-size // ALIGNMENT) * ALIGNMENT
        return made

    entries = calls if len(workload.operands) == 1 else math.isqrt(calls - 1) + 1
    pools = [[place(s, workload.dtype) for _ in range(entries)] for s in workload.operands]
    slots = [[place(s, workload.out) for s in workload.results] for _ in range(calls)]
    return Layout(pools, slots, end)
