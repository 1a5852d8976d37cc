"""Steps of chapter 3, in plain Python: `naive_matmul`, `blockwise_matmul` and `blockwise_loads`.

Sums in float32 (or better) in any order: the error of K products is at most K + 1 roundings of the
sum of their absolute values (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
section 3.1). Factors of 16 bits that are multiplied as such make errors 1000 times as large.
"""

from collections.abc import Iterator

import numpy as np

from autograder.steps.calls import CallCase, CallTask, calls_of
from autograder.steps.case import HALF_SUBNORMAL, UNIT_ROUNDOFF, Case, Operand, Task, normal


def _case(rng, name, M, N, K, block=None, dtype="float32", layout="contiguous", focus="") -> Case:
    a, b = normal(rng, (M, K), dtype), normal(rng, (K, N), dtype)
    left, right = a.astype(np.float64), b.astype(np.float64)
    bound = (K + 1) * UNIT_ROUNDOFF["float32"] * (np.abs(left) @ np.abs(right))
    size = {"M": M, "N": N, "K": K, "dtype": dtype}
    if layout != "contiguous":
        size["a"] = layout
    if block is not None:
        size["block_size"] = block
    operands = (Operand("a", a, layout), Operand("b", b))
    return Case(
        name,
        size,
        operands,
        left @ right,
        bound + HALF_SUBNORMAL["float32"],
        "float32",
        focus,
        more=() if block is None else (block,),
    )


def _draw(rng):
    return lambda low, high: int(rng.integers(low, high))


# --- naive_matmul -----------------------------------------------------------------------------


def _naive_cases(rng) -> list[Case]:
    draw = _draw(rng)
    return [
        _case(rng, "rectangular", draw(3, 5), draw(5, 7), draw(7, 9)),
        _case(rng, "tall", draw(8, 10), draw(2, 4), draw(4, 6)),
        _case(rng, "float16", 3, 4, draw(12, 16), dtype="float16", focus="dtype"),
        _case(rng, "a transposed", 4, 3, 5, layout="transposed", focus="strides:a"),
        _case(rng, "nothing to add up", 3, 2, 0, focus="K"),
    ]


def _operands(case: Case) -> tuple[np.ndarray, np.ndarray]:
    return tuple(o.values.astype(np.float64) for o in case.operands)


def _wrong_sums(a: np.ndarray, b: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Mistakes in adding up that need no blocks."""
    M, N = a.shape[0], b.shape[1]
    full = a @ b
    if a.shape[1]:
        yield "accumulator_overwritten", a[:, -1:] @ b[-1:]
        yield "k_tail_dropped", a[:, :-1] @ b[:-1]
        yield "k_tail_dropped", a[:, 1:] @ b[1:]
    yield "accumulator_not_zeroed", np.full((M, N), np.nan)
    yield "accumulator_not_zeroed", np.cumsum(full).reshape(M, N)  # one sum for all elements
    yield "accumulator_not_zeroed", np.cumsum(full, axis=1)  # one for each row
    for missing in (0.0, np.nan):
        for rows, cols in ((M - 1, N), (M, N - 1), (M - 1, N - 1)):
            yield "tail_dropped", _kept(full, rows, cols, missing)


def _kept(full: np.ndarray, rows: int, cols: int, missing: float) -> np.ndarray:
    """The first rows and columns, and `missing` elsewhere."""
    answer = np.full(full.shape, missing)
    answer[:rows, :cols] = full[:rows, :cols]
    return answer


def _naive_hypotheses(case: Case, tiles: set[int]):
    yield from _wrong_sums(*_operands(case))


naive_matmul = Task(_naive_cases, _naive_hypotheses, kernel=False)


# --- blockwise_matmul -------------------------------------------------------------------------


def _blockwise_cases(rng) -> list[Case]:
    draw = _draw(rng)
    block = draw(3, 5)

    def ragged():
        return block + draw(1, block)

    return [
        _case(rng, "whole blocks", block, 2 * block, 3 * block, block),
        _case(rng, "ragged M", ragged(), block, 2 * block, block, focus="M"),
        _case(rng, "ragged N", block, ragged(), 2 * block, block, focus="N"),
        _case(rng, "ragged K", 2 * block, block, ragged(), block, focus="K"),
        _case(rng, "ragged everywhere", ragged(), ragged(), ragged(), block, focus="MNK"),
        _case(rng, "one block larger than the matrices", 2, 3, 4, 8, focus="MNK"),
        _case(rng, "blocks of one element", 2, 3, 4, 1, focus="block"),
        _case(rng, "float16", 3, 4, draw(9, 12), 2, dtype="float16", focus="dtype"),
    ]


def _blockwise_hypotheses(case: Case, tiles: set[int]):
    a, b = _operands(case)
    (M, K), N, (block,) = a.shape, b.shape[1], case.more
    last = (K - 1) // block * block
    whole = K // block * block
    yield "k_tail_dropped", a[:, :whole] @ b[:whole]
    yield "accumulator_overwritten", a[:, last:] @ b[last:]  # C starts again in each block along K
    for missing in (0.0, np.nan):
        for rows in (M, M // block * block):
            for cols in (N, N // block * block):
                for depth in (K, whole):
                    part = a[:, :depth] @ b[:depth]
                    yield "tail_dropped", _kept(part, rows, cols, missing)
    first = np.arange(K) % block  # each block along K reads the first one
    yield "pointer_not_advanced", a[:, first] @ b[first]
    yield "pointer_not_advanced", a[:, first] @ b
    yield "pointer_not_advanced", a @ b[first]
    yield "k_loop_missing", a[:, :block] @ b[:block]
    yield from _wrong_sums(a, b)
    yield "accumulator_not_zeroed", _one_sum_a_block(a, b, block)


def _one_sum_a_block(a: np.ndarray, b: np.ndarray, block: int) -> np.ndarray:
    """One running sum for all elements of a block of C, written after each block along K."""
    M, K = a.shape
    N = b.shape[1]
    answer = np.zeros((M, N))
    for i0 in range(0, M, block):
        for j0 in range(0, N, block):
            i1, j1, total = min(i0 + block, M), min(j0 + block, N), 0.0
            for k0 in range(0, K, block):
                part = a[i0:i1, k0 : k0 + block] @ b[k0 : k0 + block, j0:j1]
                sums = total + np.cumsum(part).reshape(part.shape)
                total = sums[-1, -1]
                answer[i0:i1, j0:j1] += sums
    return answer


blockwise_matmul = Task(_blockwise_cases, _blockwise_hypotheses, kernel=False)


# --- blockwise_loads --------------------------------------------------------------------------


def _up(n: int, block: int) -> int:
    return -(-n // block)


def _loads(M: int, N: int, K: int, block_size: int) -> int:
    """A is loaded once for each column of blocks of C, B once for each row of them."""
    return M * K * _up(N, block_size) + K * N * _up(M, block_size)


def _loads_cases(rng) -> list[CallCase]:
    draw = _draw(rng)

    def whole(block):
        return tuple(block * n for n in rng.permutation(range(2, 8))[:3].tolist())

    def ragged(block):
        return tuple(n + draw(1, block) for n in whole(block))

    def case(name, asked):
        return CallCase(name, {}, calls_of(_loads, asked))

    blocks = [draw(3, 9) for _ in range(4)]
    return [
        case("whole blocks", [(*whole(b), b) for b in blocks]),
        case("ragged edges", [(*ragged(b), b) for b in blocks]),
        case("one block larger than the matrices", [(5, 3, 7, 16), (1, 1, 1, 2)]),
        case("blocks of one element", [(*whole(3), 1)]),
        case("sizes of real matrices", [(4097, 11007, 4095, 128), (8191, 8193, 8192, 256)]),
    ]


_LOADS_MISTAKES = (
    ("tail_dropped", lambda M, N, K, b: M * K * (N // b) + K * N * (M // b)),
    ("tail_dropped", lambda M, N, K, b: 2 * M * N * K // b),  # right for whole blocks only
    ("tile_dimensions_confused", lambda M, N, K, b: M * K * _up(M, b) + K * N * _up(N, b)),
    ("tile_dimensions_confused", lambda M, N, K, b: M * K * _up(K, b) + K * N * _up(K, b)),
    ("reuse_ignored", lambda M, N, K, b: 2 * M * N * K),
    ("padding_counted", lambda M, N, K, b: 2 * b * b * _up(M, b) * _up(N, b) * _up(K, b)),
    ("operand_missing", lambda M, N, K, b: M * K * _up(N, b)),
    ("operand_missing", lambda M, N, K, b: K * N * _up(M, b)),
    ("operand_missing", lambda M, N, K, b: M * K + K * N),  # each loaded once: no block at all
    ("operand_missing", lambda M, N, K, b: _loads(M, N, K, b) + M * N),
    ("reuse_ignored", lambda M, N, K, b: _loads(M, N, K, b) * b),
)


blockwise_loads = CallTask(_loads_cases, _LOADS_MISTAKES)
