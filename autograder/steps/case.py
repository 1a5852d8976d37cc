"""What a test case is: operands with a memory layout, the exact answer, and the error allowed.

Lives in the grader's process only. Must never hand `expected` or `bound` to the worker.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from autograder.account import Launch
from autograder.formats import rounded

# Unit roundoff of each output type: half the distance from 1.0 to the next larger number.
UNIT_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}
# Half of the smallest positive number: what rounding may add where the answer is subnormal.
HALF_SUBNORMAL = {"float16": 2.0**-25, "bfloat16": 2.0**-134, "float32": 2.0**-150}
# TF32 has ten bits of fraction, and a GPU cuts a float32 operand to them: always towards zero.
TF32_ROUNDOFF = 2.0**-10


@dataclass(frozen=True)
class Operand:
    """One tensor argument.

    `values` is a NumPy array (1-D to 4-D) of the argument's own type; for bfloat16, which NumPy
    lacks, float32 numbers that it can hold, and `dtype` says so. `layout` says how it lies
    in memory: `contiguous`; `transposed` (the last two strides swapped); `padded` (row stride
    larger than a row); `sliced` (every second element, of every second row); `bnhd` (a 4-D tensor
    whose two middle axes are exchanged in memory, as a projection leaves attention's heads);
    `single` (one number for all elements, repeated by strides of 0; `values` are then equal). Two
    concern the leading axis, which is the first with more than one entry: `expanded` (its first
    entry repeated by stride 0; `values` must then have equal entries); `far` (entries so far apart
    that the last one's offset passes 2³¹ elements).
    """

    name: str
    values: np.ndarray
    layout: str = "contiguous"
    dtype: str = ""

    def __post_init__(self):
        object.__setattr__(self, "dtype", self.dtype or self.values.dtype.name)


@dataclass(frozen=True)
class Backward:
    """A call that is differentiated.

    gradient  of the result: what goes in
    wanted    names of the operands that require a gradient, in order. Where it is empty all
              require one, and the call is made under `torch.no_grad()`
    calls     how often the same graph is run backward; the gradients of the last count
    """

    gradient: Operand
    wanted: tuple[str, ...]
    calls: int = 1


@dataclass(frozen=True)
class Case:
    """One call of the learner's function.

    name      what the case is about, in a learner's words ("ragged K")
    size      the numbers and types printed with it
    operands  the tensor arguments, in order
    expected  exact answer, float64 (or the output's own type where the answer is exact)
    bound     largest allowed absolute error per element, float64, same shape as `expected`
    dtype     NumPy name of the output's type
    focus     what this case differs in from the plain ones: "M", "N", "K", "strides:a", …
    more      arguments after the operands that are no tensors, by position: numbers, bools, None
    named     the same by keyword
    backward  if set, the call is differentiated. Then `expected` and `bound` are 1-D and hold the
              result and the gradients wanted, one after the other (see `parts`), all of one type
    coarse    what TF32 may add to `bound` where a GPU multiplies float32 operands; 0 where nothing
              is multiplied, or not in float32
    """

    name: str
    size: dict
    operands: tuple[Operand, ...]
    expected: np.ndarray
    bound: np.ndarray
    dtype: str
    focus: str = ""
    kind: str = "correctness"
    more: tuple = ()
    named: dict = field(default_factory=dict)
    backward: Backward | None = None
    coarse: np.ndarray | float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result."""
        return self.parts[""]

    @property
    def tensors(self) -> tuple[Operand, ...]:
        """All that the call reads: the operands, and the gradient that comes back."""
        return self.operands + ((self.backward.gradient,) if self.backward else ())

    @property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what `expected` holds: the result's under "", then gradients' by operand."""
        if self.backward is None:
            return {"": self.expected.shape}
        shapes = {operand.name: operand.values.shape for operand in self.operands}
        wanted = {name: shapes[name] for name in self.backward.wanted}
        return {"": self.backward.gradient.values.shape} | wanted

    def split(self, whole: np.ndarray) -> dict[str, np.ndarray]:
        """The parts of an array like `expected`, each in its shape."""
        ends = np.cumsum([math.prod(shape) for shape in self.parts.values()])
        pieces = np.split(whole.reshape(-1), ends[:-1])
        return {name: x.reshape(s) for (name, s), x in zip(self.parts.items(), pieces)}


@dataclass(frozen=True)
class Task:
    """How one step is graded: its cases, and what may be around the kernel.

    cases       draws the battery, in the order it is run
    hypotheses  given a case and the tile sizes that the kernel was launched with, yields
                (cause, wrong answer) for mistakes whose result can be computed; an answer may be
                that of the result alone, where the case asks for gradients as well
    otherwise   the cause when nothing else is recognised
    allowed     library operators accepted besides allocation, views, casts and copies
    optimum     bytes that a kernel must load and must store for a case, where the task has such
                numbers
    second_fill a number that a maximum or a minimum does not swallow, as it does NaN: one ragged
                case is run again with it beside the operands and in masked lanes
    each_config names of the cases that every config of an autotuned kernel is graded on; empty
                for all
    ieee        whether the step promises the accuracy of float32, so that TF32 is a mistake
    by_launch   given a case and a kernel launch, yields (cause, wrong answer) for mistakes in how
                programs share the work; NaN stands where nothing is written
    kernel      whether the work must be a Triton kernel's. If not, it is plain Python over tensors:
                any operator is accepted but a library's product (worker/observer.py)
    """

    cases: Callable[[np.random.Generator], list[Case]]
    hypotheses: Callable[[Case, set[int]], Iterator[tuple[str, np.ndarray]]]
    otherwise: str = "wrong_values"
    allowed: frozenset[str] = field(default_factory=frozenset)
    optimum: Callable[[Case], tuple[int, int]] | None = None
    second_fill: float | None = None
    each_config: frozenset[str] = field(default_factory=frozenset)
    ieee: bool = False
    by_launch: Callable[[Case, Launch], Iterator[tuple[str, np.ndarray]]] | None = None
    kernel: bool = True


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Zero-mean values with spread: uniform or constant data hide wrong sums."""
    return rounded(rng.standard_normal(shape), dtype)


def expanded(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Equal entries along the leading axis, as a view with stride 0 shows them."""
    axis = leading_axis(shape)
    one = normal(rng, (*shape[:axis], 1, *shape[axis + 1 :]), dtype)
    return np.broadcast_to(one, shape).copy()


def leading_axis(shape: tuple[int, ...]) -> int:
    """The first axis with more than one entry, or 0."""
    return next((i for i, n in enumerate(shape) if n > 1), 0)


def ragged(rng: np.random.Generator, low: int, high: int) -> int:
    """An odd number in [low, high): never a multiple of any tile size."""
    return int(rng.integers(low // 2, high // 2)) * 2 + 1
