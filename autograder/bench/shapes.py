"""The shapes (M, N, K) of the table, and the groups that a mean is taken over.

Sizes only. Must never choose a shape to suit a kernel.
"""

from typing import NamedTuple


class Shape(NamedTuple):
    """A is (M, K), B is (K, N)."""

    M: int
    N: int
    K: int


def square(n: int) -> Shape:
    """Both operands n by n."""
    return Shape(n, n, n)


# The published table of three Python loops: the one size that they were timed for.
PYTHON = square(26)
TINY = tuple(map(square, (256, 512)))
SMALL_SQUARES = tuple(map(square, (1024, 1536)))
LARGE_SQUARES = tuple(map(square, (2048, 3072, 4096, 6144, 8192)))
SQUARES = (*TINY, *SMALL_SQUARES, *LARGE_SQUARES)
# Layers of language models: many tokens at once, and the few of a step that makes text.
MANY_TOKENS = tuple(
    Shape(*s)
    for s in ((4096, 14336, 4096), (4096, 4096, 14336), (2048, 6144, 4096), (512, 14336, 4096))
)
FEW_TOKENS = tuple(Shape(*s) for s in ((128, 4096, 4096), (8, 4096, 4096), (16, 8192, 1024)))
MODEL = (*MANY_TOKENS, *FEW_TOKENS)

LARGE = (*LARGE_SQUARES, *MANY_TOKENS)
SMALL = (*SMALL_SQUARES, *FEW_TOKENS)
GROUPS = ("large", "small")


def group(shape: Shape) -> str:
    """ "large" or "small", over which means are taken; "extra" is in none."""
    return "large" if shape in LARGE else "small" if shape in SMALL else "extra"
