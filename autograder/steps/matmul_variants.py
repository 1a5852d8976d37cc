"""Products that differ from `triton_matmul` in how the work is shared out, or in precision:
`ieee_matmul`, `grouped_matmul`, `autotuned_matmul`, `persistent_matmul`, `split_k_matmul`.

The bound is that of steps/matmul.py. Sizes are chosen so that a wrong share-out shows whatever
tiles and groups the learner chose, and so that the interpreter has few tiles to compute.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from autograder.account import Launch
from autograder.steps import schedules
from autograder.steps.case import Case, Task, ragged
from autograder.steps.matmul import product_case, product_hypotheses, wide

Answers = Iterator[tuple[str, np.ndarray]]


# --- ieee_matmul ------------------------------------------------------------------------------


def _ieee_cases(rng) -> list[Case]:
    """K is 16 or more. There the three TF32 products of `tf32x3` stay inside the bound (at most 0.7
    of it, simulated), and one TF32 product is far outside (hundreds of times up to K = 64)."""

    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, m, n, k, **kwargs):
        return product_case(rng, name, m, n, k, dtype="float32", **kwargs)

    return [
        case("whole tiles", 64, 64, 64),
        case("several tiles", 128, 256, 64, focus="rectangular"),
        case("ragged M", 64 + odd(3, 60), 64, 64, focus="M"),
        case("ragged N", 64, 64 + odd(3, 60), 64, focus="N"),
        case("ragged K", 64, 64, 64 + odd(3, 60), focus="K"),
        case("ragged everywhere", odd(133, 160), odd(133, 160), odd(33, 60), focus="MNK"),
        case("smaller than a tile", odd(3, 7), odd(9, 15), odd(17, 31), focus="MNK"),
        case("one row", 1, odd(17, 60), odd(17, 60), focus="MNK"),
        case("no rows", 0, 64, 64, focus="empty"),
        case("A transposed", 64, 64, 128, a="transposed", focus="strides:a"),
        case("B transposed", 64, 64, 128, b="transposed", focus="strides:b"),
        case("padded rows", odd(33, 60), 64, 64, a="padded", b="padded", focus="strides:ab"),
        case("A sliced, B expanded", 32, 64, 64, a="sliced", b="expanded", focus="strides:ab"),
        case("A and B beyond 2³¹ elements", odd(33, 60), 32, 64, a="far", b="far", focus="int64"),
        case("long K", 32, 32, 512 + odd(3, 30), focus="precision"),
    ]


# --- grouped_matmul and persistent_matmul -----------------------------------------------------


def _grid_cases(rng) -> list[Case]:
    """A tile has 16 to 128 rows, a group 2 to 8 rows of tiles, if it is of the usual kind.

    1027 to 1039 rows are 65, 33, 17 or 9 rows of tiles: more than one group, the last one short for
    every power of two. 1024 rows are 64, 32, 16 or 8: the last group is full. 67 to 79 rows are 5, 3,
    2 or 1, and 131 to 143 are 9, 5, 3 or 2: of the two, one is short for every group, and both are
    several columns wide even for tiles of 256 columns.
    """

    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, m, n, k, **kwargs):
        return product_case(rng, name, m, n, k, **kwargs)

    return [
        case("whole tiles", 64, 64, 64),
        case("several tiles", 128, 256, 32, focus="rectangular"),
        case("last group short", 1024 + odd(3, 15), 128 + odd(3, 9), 16, focus="MN"),
        case("last group full", 1024, 32, 16, focus="rectangular"),
        case("one short group", 64 + odd(3, 15), 512 + odd(3, 9), 16, focus="MN"),
        case("ragged M", 64 + odd(3, 60), 64, 64, focus="M"),
        case("ragged N", 64, 64 + odd(3, 60), 64, focus="N"),
        case("ragged K", 64, 64, 64 + odd(3, 60), focus="K"),
        case("ragged everywhere", 128 + odd(3, 15), 256 + odd(3, 9), odd(33, 48), focus="MNK"),
        case("smaller than a tile", odd(3, 7), odd(9, 15), odd(3, 15), focus="MNK"),
        case("one row", 1, odd(17, 60), odd(17, 60), focus="MNK"),
        case("no rows", 0, 64, 64, focus="empty"),
        case("A transposed", 64, 64, 128, a="transposed", focus="strides:a"),
        case("B transposed", 64, 64, 128, b="transposed", focus="strides:b"),
        case("padded rows", odd(33, 60), 64, 64, a="padded", b="padded", focus="strides:ab"),
        case("A sliced, B expanded", 32, 64, 64, a="sliced", b="expanded", focus="strides:ab"),
        case("A and B beyond 2³¹ elements", odd(33, 60), 32, 64, a="far", b="far", focus="int64"),
        case("float32", odd(33, 60), odd(33, 60), odd(65, 90), dtype="float32", focus="dtype"),
        case("bfloat16", odd(33, 60), odd(33, 60), odd(65, 90), dtype="bfloat16", focus="dtype"),
        case("long K", 32, 32, 512 + odd(3, 30), focus="precision"),
    ]


def _tilings(case: Case, launch: Launch) -> Iterator[tuple[int, int, int, int, int]]:
    """(bm, bn, rows of tiles, columns of tiles, group) that the launch may have meant."""
    m, n = case.shape
    for bm, bn in itertools.product(*(schedules.sides(launch.constexprs, d) for d in "MN")):
        for group in schedules.groups(launch.constexprs):
            yield bm, bn, -(-m // bm), -(-n // bn), group


def _only(case: Case, written: np.ndarray, bm: int, bn: int) -> np.ndarray:
    """The right answer where the tiles are written, NaN elsewhere."""
    return np.where(schedules.spread(written, bm, bn, case.shape), case.expected, np.nan)


def _misplaced(case: Case, bm: int, bn: int, tall: int, broad: int, group: int) -> Answers:
    """Every number from 0 has a program or a turn of a loop, and wrong numbers a wrong tile."""
    pid = np.arange(tall * broad)
    for cause, rows, columns in schedules.wrong_maps(pid, tall, broad, group):
        written = schedules.reached(rows, columns, tall, broad)
        if not written.all():
            yield cause, _only(case, written, bm, bn)


def _floor_counts(case: Case, bm: int, bn: int, tall: int, broad: int) -> set[int]:
    """Numbers of tiles when one or both of the divisions round down."""
    m, n = case.shape
    return {(m // bm) * broad, tall * (n // bn), (m // bm) * (n // bn)} - {tall * broad}


def _grouped_by_launch(case: Case, launch: Launch) -> Answers:
    programs = math.prod(launch.grid)
    m, n = case.shape
    for bm, bn, tall, broad, group in _tilings(case, launch):
        if programs == tall * broad:
            yield from _misplaced(case, bm, bn, tall, broad, group)
            continue
        right = schedules.group_major(np.arange(programs), tall, broad, group)
        written = _only(case, schedules.reached(*right, tall, broad), bm, bn)
        if programs in _floor_counts(case, bm, bn, tall, broad):
            yield "grid_floor", written
        if programs == -(-m // bn) * -(-n // bm):  # rows counted with the width of a tile
            yield "grid_swapped", written


def _persistent_by_launch(case: Case, launch: Launch) -> Answers:
    programs = math.prod(launch.grid)
    for bm, bn, tall, broad, group in _tilings(case, launch):
        count = tall * broad
        if not 0 < programs < count:
            continue
        yield from _misplaced(case, bm, bn, tall, broad, group)
        short = _floor_counts(case, bm, bn, tall, broad)
        for order in {group, 1}:
            rows, columns = schedules.group_major(np.arange(count), tall, broad, order)
            for cause, computed in _loops_gone_wrong(count, programs, short, launch.constexprs):
                if not computed.all():
                    written = schedules.reached(rows[computed], columns[computed], tall, broad)
                    yield cause, _only(case, written, bm, bn)
            yield from _left_over(case, bm, bn, rows, columns, programs)


def _loops_gone_wrong(
    count: int, programs: int, short: set[int], constexprs: dict[str, int]
) -> Iterator[tuple[str, np.ndarray]]:
    """(cause, which tiles are computed) when the loop over them starts, ends or steps wrongly."""
    tiles = np.arange(count)
    turn, turns = tiles // programs, count // programs
    for computed in (
        tiles % programs == 0,  # every program starts at tile 0
        turn == 0,  # no loop
        turn < turns,  # as many turns for all, rounded down
        turn > 0,  # the first turn is left out
        tiles < count - 1,  # ends one tile early
        tiles < count - programs,  # ends one turn early
    ):
        yield "tile_loop_wrong", computed
    for step in {programs - 1, programs + 1, *constexprs.values()}:
        if step > 0:
            yield "tile_loop_wrong", tiles % step < programs
    for fewer in short:
        yield "grid_floor", tiles < fewer


def _left_over(case: Case, bm: int, bn: int, rows, columns, programs: int) -> Answers:
    """What a program carries from one of its tiles to the next: the sum, or the pointers."""
    tiles = schedules.cut(case.expected, bm, bn)
    in_order = tiles[rows, columns]
    summed, stuck_a, stuck_b, stuck, past_k = (np.zeros_like(tiles) for _ in range(5))
    for first in range(programs):
        own = np.arange(first, len(in_order), programs)
        summed[rows[own], columns[own]] = np.cumsum(in_order[own], axis=0)
        stuck_a[rows[own], columns[own]] = tiles[rows[first], columns[own]]
        stuck_b[rows[own], columns[own]] = tiles[rows[own], columns[first]]
        stuck[rows[own], columns[own]] = in_order[first]
        past_k[rows[first], columns[first]] = in_order[first]  # later tiles: every k is masked
    yield "accumulator_not_zeroed", schedules.joined(summed, case.shape)
    for left in (stuck_a, stuck_b, stuck, past_k):
        yield "pointers_not_reset", schedules.joined(left, case.shape)


# --- split_k_matmul ---------------------------------------------------------------------------


def _split_k_cases(rng) -> list[Case]:
    """Slices are as long as the learner likes: K is far longer than all tiles along K together, a
    multiple of no slice, shorter than one, and 1."""

    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, m, n, k, **kwargs):
        return product_case(rng, name, m, n, k, **kwargs)

    return [
        case("one tile, long K", 32, 32, 1024),
        case("several tiles", 96, 64, 256, focus="rectangular"),
        case("K a multiple of 16 only", 32, 32, 1024 + 16 * odd(3, 30), focus="K"),
        case("ragged K", 32, 32, 4096 + odd(3, 60), focus="K"),
        case("K smaller than a slice", 32, 32, odd(17, 60), focus="K"),
        case("K = 1", 16, 32, 1, focus="K"),
        case("ragged M", odd(65, 90), 32, 256, focus="M"),
        case("ragged N", 32, odd(65, 90), 256, focus="N"),
        case("ragged everywhere", odd(33, 60), odd(65, 90), 512 + odd(3, 60), focus="MNK"),
        case("one row", 1, odd(17, 60), 512 + odd(3, 60), focus="MNK"),
        case("no rows", 0, 64, 64, focus="empty"),
        case("A transposed", 32, 32, 256, a="transposed", focus="strides:a"),
        case("B transposed", 32, 32, 256, b="transposed", focus="strides:b"),
        case("padded rows", 32, 32, 512, a="padded", b="padded", focus="strides:ab"),
        case("A sliced, B expanded", 16, 32, 256, a="sliced", b="expanded", focus="strides:ab"),
        case("A and B beyond 2³¹ elements", odd(17, 32), 32, 256, a="far", b="far", focus="int64"),
        case("float32", odd(17, 32), odd(17, 32), 512 + odd(3, 60), dtype="float32", focus="dtype"),
        case(
            "bfloat16", odd(17, 32), odd(17, 32), 256 + odd(3, 60), dtype="bfloat16", focus="dtype"
        ),
    ]


def _slicings(k: int, launch: Launch) -> Iterator[tuple[int, int, int]]:
    """(slices, length of a slice, BLOCK_K) that the launch may have meant."""
    depths = [d for d in schedules.sides(launch.constexprs, "K") if d <= k] or [k]
    for slices in sorted({n for n in (*launch.grid, *launch.constexprs.values()) if 1 < n <= 256}):
        for depth in depths:
            turns = -(-k // depth)
            lengths = (-(-k // slices), k // slices, -(-turns // slices) * depth,
                       turns // slices * depth, k // depth // slices * depth)  # fmt: skip
            for length in sorted({n for n in lengths if n}):
                yield slices, length, depth


def _split_k_by_launch(case: Case, launch: Launch) -> Answers:
    a, b = (wide(o) for o in case.operands)
    k = a.shape[1]

    def product(start: int, end: int) -> np.ndarray:
        return a[:, start:end] @ b[start:end]

    if launch.stores:  # and yet the result is NaN: memory was read that nobody had written
        nan = np.full(case.shape, np.nan)
        if any((slices - 1) * length >= k for slices, length, _ in _slicings(k, launch)):
            yield "output_not_written", nan  # that of slices which hold nothing
        yield "accumulator_not_zeroed", nan
    yield from _floor_of_split_k(case, launch)
    for slices, length, depth in _slicings(k, launch):
        starts = [s * length for s in range(slices)]
        parts = [product(start, start + length) for start in starts]
        for part in parts:  # each slice stores, and one is the last
            yield "race", part
        yield "k_tail_dropped", sum(parts)
        yield "k_tail_dropped", sum(parts[:-1])
        yield "slices_wrong", sum(product(start, k) for start in starts)
        yield "slices_wrong", sum(product(0, start + length) for start in starts)
        yield "slices_wrong", slices * parts[0]
        yield "slices_wrong", slices * case.expected
        yield "slices_wrong", sum(parts[1:])
        whole = -(-length // depth) * depth  # the last turn of a slice reads into the next one
        yield "slices_wrong", sum(product(start, start + whole) for start in starts)
        full = length // depth * depth  # the last, partial turn of every slice is left out
        yield "k_tail_dropped", sum(product(s, min(s + full, k)) for s in starts)
    # Slices that take every n-th tile along K.
    for slices, _, depth in _slicings(k, launch):
        tile_of = np.arange(k) // depth
        for s in range(slices):
            mine = tile_of % slices == s
            yield "race", a[:, mine] @ b[mine]
        kept = tile_of < -(-k // depth) // slices * slices
        yield "k_tail_dropped", a[:, kept] @ b[kept]


def _floor_of_split_k(case: Case, launch: Launch) -> Answers:
    """Tiles past the last whole one have no program: unwritten, or zero where that was allocated."""
    m, n = case.shape
    for bm, bn in itertools.product(*(schedules.sides(launch.constexprs, d) for d in "MN")):
        for tall, broad in ((m // bm, -(-n // bn)), (-(-m // bm), n // bn), (m // bm, n // bn)):
            written = np.zeros(case.shape, bool)
            written[: max(tall, 1) * bm, : max(broad, 1) * bn] = True
            if not written.all():
                yield "grid_floor", np.where(written, case.expected, np.nan)
                yield "grid_floor", np.where(written, case.expected, 0)


# What shows a config that is wrong where others are right: its groups, its tail of K, also where
# M and N are whole tiles.
EACH_CONFIG = frozenset(
    {"several tiles", "one short group", "last group full", "ragged K", "ragged everywhere"}
)

ieee_matmul = Task(_ieee_cases, product_hypotheses, ieee=True)
grouped_matmul = Task(
    _grid_cases, product_hypotheses, by_launch=_grouped_by_launch, each_config=EACH_CONFIG
)
autotuned_matmul = grouped_matmul  # the same contract; every config meets it alone
persistent_matmul = Task(
    _grid_cases, product_hypotheses, by_launch=_persistent_by_launch, each_config=EACH_CONFIG
)
split_k_matmul = Task(
    _split_k_cases,
    product_hypotheses,
    by_launch=_split_k_by_launch,
    allowed=frozenset({"sum"}),
)
