"""Steps of chapter 12 in plain Python: `attention_traffic` and `causal_blocks`.

How many elements flash attention moves, and which blocks of keys a tile of queries looks at.
"""

import numpy as np

from autograder.steps.calls import CallCase, CallTask, calls_of

# --- attention_traffic ------------------------------------------------------------------------


def _up(n: int, block: int) -> int:
    return -(-n // block)


def _traffic(N: int, D: int, block_q: int) -> int:
    """q and the output once; k and v once for each block of queries."""
    return 2 * N * D + 2 * N * D * _up(N, block_q)


def _traffic_cases(rng: np.random.Generator) -> list[CallCase]:
    def draw(low, high):
        return int(rng.integers(low, high))

    def case(name, *asked):
        return CallCase(name, {}, calls_of(_traffic, asked))

    blocks = [16 * draw(1, 5) for _ in range(3)]
    return [
        case("whole blocks", *((b * draw(2, 9), d, b) for b, d in zip(blocks, (16, 64, 128)))),
        case("ragged N", *((b * draw(2, 9) + draw(1, b), d, b) for b, d in zip(blocks, (128, 32, 64)))),
        case("one block longer than N", (draw(3, 15), 64, 16), (1, 16, 128)),
        case("one query at a time", (draw(20, 90), 32, 1)),
        case("real lengths", (8192, 64, 128), (8192, 64, 256), (16384 + draw(1, 99), 128, 128)),
    ]  # fmt: skip


_TRAFFIC_MISTAKES = (
    ("tail_dropped", lambda N, D, b: 2 * N * D + 2 * N * D * (N // b)),
    ("tail_dropped", lambda N, D, b: 2 * N * D + 2 * N * D * N // b),
    ("rereads_miscounted", lambda N, D, b: 4 * N * D),  # k and v once
    ("rereads_miscounted", lambda N, D, b: 2 * N * D + 2 * N * D * N),  # for every query
    ("rereads_miscounted", lambda N, D, b: 4 * N * D * _up(N, b)),  # q and the output too
    ("rereads_miscounted", lambda N, D, b: 2 * N * D * _up(N, b) + 2 * b * D * _up(N, b)),
    ("rereads_miscounted", lambda N, D, b: 2 * N * D + 2 * N * D * b),
    ("rereads_miscounted", lambda N, D, b: 2 * N * D + 2 * N * D * _up(N, b) * b),
    ("rereads_miscounted", lambda N, D, b: 2 * N * D + 2 * N * D * _up(N, b) ** 2),
    ("operand_left_out", lambda N, D, b: N * D + 2 * N * D * _up(N, b)),  # q or the output
    ("operand_left_out", lambda N, D, b: 2 * N * D * _up(N, b)),
    ("operand_left_out", lambda N, D, b: 2 * N * D + N * D * _up(N, b)),  # k or v
    ("operand_left_out", lambda N, D, b: N * D + N * D * _up(N, b)),
    ("scores_counted", lambda N, D, b: 4 * N * D + 4 * N * N),  # standard attention
    ("scores_counted", lambda N, D, b: 4 * N * D + 2 * N * N),
    ("scores_counted", lambda N, D, b: _traffic(N, D, b) + N * N),
    ("scores_counted", lambda N, D, b: _traffic(N, D, b) + 2 * N * N),
    ("bytes_counted", lambda N, D, b: 2 * _traffic(N, D, b)),
    ("bytes_counted", lambda N, D, b: 4 * _traffic(N, D, b)),
)

attention_traffic = CallTask(_traffic_cases, _TRAFFIC_MISTAKES, otherwise="rereads_miscounted")


# --- causal_blocks ----------------------------------------------------------------------------


def _clamped(n: int, Nk: int) -> int:
    return min(max(n, 0), Nk)


def _blocks(first: int, block_m: int, Nq: int, Nk: int, block_n: int) -> tuple[int, int]:
    """Keys before the first are seen by all queries of the tile, in whole blocks; from the second on
    by none."""
    seen_by_first = _clamped(first + 1 + Nk - Nq, Nk)
    return seen_by_first // block_n * block_n, _clamped(first + block_m + Nk - Nq, Nk)


def _blocks_cases(rng: np.random.Generator) -> list[CallCase]:
    def draw(low, high):
        return int(rng.integers(low, high))

    def every_tile(name, Nq, Nk, block_m, block_n):
        asked = [(first, block_m, Nq, Nk, block_n) for first in range(0, Nq, block_m)]
        size = {"Nq": Nq, "Nk": Nk, "block_m": block_m, "block_n": block_n}
        return CallCase(name, size, calls_of(_blocks, asked))

    m, n = 8 * draw(2, 5), 8 * draw(2, 5)
    return [
        every_tile("equal lengths", 4 * m, 4 * m, m, m),
        every_tile("two sizes of blocks", 5 * m, 5 * m, m, n + 8 if n == m else n),
        every_tile("more keys than queries", 3 * m, 3 * m + draw(n, 3 * n), m, n),
        every_tile("more queries than keys", 6 * m, 2 * m + draw(1, m), m, n),
        every_tile("ragged lengths", 3 * m + draw(1, m), 3 * m + draw(m, 2 * m), m, n),
        every_tile("a block ends at the diagonal", 2 * m, 2 * m + n - 1, m, n),
        every_tile("a block ends one key after it", 2 * m, 2 * m + n - 2, m, n),
        every_tile("one query", 1, 5 * n + draw(1, n), m, n),
        every_tile("no keys", 2 * m, 0, m, n),
    ]


def _with_shift(shift):
    """The right rule with another number in place of Nk - Nq."""

    def wrong(first, block_m, Nq, Nk, block_n):
        seen = _clamped(first + 1 + shift(Nq, Nk), Nk)
        return seen // block_n * block_n, _clamped(first + block_m + shift(Nq, Nk), Nk)

    return wrong


def _with(full=None, end=None):
    """The right rule with one of its two numbers changed, each (first, block_m, shift, Nk, block_n)."""

    def wrong(first, block_m, Nq, Nk, block_n):
        right = _blocks(first, block_m, Nq, Nk, block_n)
        arguments = (first, block_m, Nk - Nq, Nk, block_n)
        return full(*arguments) if full else right[0], end(*arguments) if end else right[1]

    return wrong


def _down(n: int, block: int) -> int:
    return n // block * block


_BLOCKS_MISTAKES = (
    ("causal_alignment", _with_shift(lambda Nq, Nk: 0)),
    ("causal_alignment", _with_shift(lambda Nq, Nk: Nq - Nk)),
    ("causal_alignment", _with(full=lambda first, m, s, Nk, n: _down(_clamped(first + 1, Nk), n))),
    ("causal_alignment", _with(end=lambda first, m, s, Nk, n: _clamped(first + m, Nk))),
    ("causal_mask_wrong", _with(full=lambda first, m, s, Nk, n: _down(_clamped(first + s, Nk), n))),
    ("causal_mask_wrong", _with(full=lambda first, m, s, Nk, n: _down(_clamped(first + s + 2, Nk), n))),
    ("causal_mask_wrong", _with(end=lambda first, m, s, Nk, n: _clamped(first + m + s - 1, Nk))),
    ("causal_mask_wrong", _with(end=lambda first, m, s, Nk, n: _clamped(first + m + s + 1, Nk))),
    ("causal_mask_wrong", _with(end=lambda first, m, s, Nk, n: _clamped(first + 1 + s, Nk))),
    ("block_bounds_wrong", _with(full=lambda first, m, s, Nk, n: _clamped(first + 1 + s, Nk))),
    ("block_bounds_wrong", _with(full=lambda first, m, s, Nk, n: _down(_clamped(first + m + s, Nk), n))),
    ("block_bounds_wrong", _with(full=lambda first, m, s, Nk, n: _up(_clamped(first + 1 + s, Nk), n) * n)),
    ("block_bounds_wrong", _with(full=lambda first, m, s, Nk, n: _down(first + 1 + s, n))),
    ("block_bounds_wrong", _with(full=lambda first, m, s, Nk, n: _down(min(first + 1 + s, Nk), n))),
    ("block_bounds_wrong", _with(full=lambda first, m, s, Nk, n: _clamped(first + 1 + s, Nk) // n)),
    ("block_bounds_wrong", _with(end=lambda first, m, s, Nk, n: first + m + s)),
    ("block_bounds_wrong", _with(end=lambda first, m, s, Nk, n: min(first + m + s, Nk))),
    ("block_bounds_wrong", _with(end=lambda first, m, s, Nk, n: max(first + m + s, 0))),
    ("block_bounds_wrong", _with(end=lambda first, m, s, Nk, n: Nk)),
    ("block_bounds_wrong", _with(end=lambda first, m, s, Nk, n: _up(_clamped(first + m + s, Nk), n) * n)),
    ("block_bounds_wrong", _with(end=lambda first, m, s, Nk, n: _down(_clamped(first + m + s, Nk), n))),
    ("block_bounds_wrong", _with(end=lambda first, m, s, Nk, n: _clamped(first + n + s, Nk))),
    ("block_bounds_wrong", lambda *a: _blocks(*a)[::-1]),
)  # fmt: skip

causal_blocks = CallTask(_blocks_cases, _BLOCKS_MISTAKES, otherwise="block_bounds_wrong")
