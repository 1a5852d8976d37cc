"""Step `wave_strips` of chapter 8: the strips of A and B that a wave of programs reads.

Programs are numbered in group-major order, as step `group_major` has it.
"""

import numpy as np

from autograder.steps import schedules
from autograder.steps.calls import CallCase, CallTask, calls_of


def _pids(num_pid_m, num_pid_n, first, programs) -> np.ndarray:
    return np.arange(first, max(first, min(first + programs, num_pid_m * num_pid_n)))


def _different(rows, columns) -> tuple[int, int]:
    return len(set(rows.tolist())), len(set(columns.tolist()))


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs) -> tuple[int, int]:
    """(different strips of A, different strips of B) of the programs from `first` on."""
    pids = _pids(num_pid_m, num_pid_n, first, programs)
    return _different(*schedules.group_major(pids, num_pid_m, num_pid_n, group_size))


# --- cases ------------------------------------------------------------------------------------


def _cases(rng: np.random.Generator) -> list[CallCase]:
    def case(name, *waves):
        names = ("num_pid_m", "num_pid_n", "group_size", "first", "programs")
        waves = [tuple(map(int, wave)) for wave in waves]
        return CallCase(name, dict(zip(names, waves[0])), calls_of(wave_strips, waves))

    def anything():
        m, n = rng.integers(2, 20, size=2)
        return m, n, rng.integers(1, 7), rng.integers(0, m * n), rng.integers(1, 40)

    g = int(rng.integers(3, 6))
    n = int(rng.integers(7, 12))
    return [
        case("a wave inside one group", (4 * g, 2 * n, g, 0, 2 * g), (4 * g, 2 * n, g, 0, n * g)),
        case("row by row", (n, n, 1, 0, n), (n, n + 3, 1, 0, 2 * n)),
        case("not the first wave", (3 * g, n, g, g, 3 * g), (3 * g, n, g, g * n + 1, 2 * g + 1)),
        case("a wave over two groups", (3 * g, n, g, g * n - 2, 5), (3 * g, n, g, g * n - g, 4 * g)),
        case("short last group", (g + g - 1, n, g, g * n, 3 * g), (g + 1, n, g, g * n + 1, 4)),
        case("the last wave is not full", (g, n, g, g * n - 3, 5 * g), (g + 1, n, g, (g + 1) * n - 2, 9)),
        case("a group larger than the grid", (g - 1, n, 2 * g, 0, 2 * g), (1, n, 4, 2, 3)),
        case("no program", (g, n, g, 0, 0), (g, n, g, g * n, 8)),
        case("more columns than rows", (2, 4 * n, 2, 3, n), (2, 4 * n, 1, n, 3 * n)),
        case("any waves", *(anything() for _ in range(8))),
    ]  # fmt: skip


# --- mistakes ---------------------------------------------------------------------------------


def _with_pids(pids):
    """The programs that are looked at, as a mistake has them."""

    def wrong(m, n, g, first, programs):
        with np.errstate(divide="raise"):  # past the grid a group may have no row
            return _different(*schedules.group_major(pids(m, n, first, programs), m, n, g))

    return wrong


def _loads(m, n, g, first, programs):
    count = len(_pids(m, n, first, programs))
    return count, count


def _by_map(tile_of):
    def wrong(m, n, g, first, programs):
        return _different(*tile_of(_pids(m, n, first, programs), m, n, g))

    return wrong


def _group_of_map(index):
    """One of the maps that are not one to one; where it divides by zero, it divides."""

    def tile_of(pids, m, n, g):
        if not pids.size:
            return pids, pids
        return list(schedules.wrong_maps(pids, m, n, g))[index][1:]

    return _by_map(tile_of)


def _by_columns_of_groups(pids, m, n, g):
    columns, rows = schedules.group_major(pids, n, m, g)
    return rows, columns


def _by_formula(m, n, g, first, programs):
    return min(g, programs), -(-programs // g)


def _by_clamped_formula(m, n, g, first, programs):
    rows = min(g, m, programs)
    return rows, min(n, -(-programs // rows)) if rows else 0


MISTAKES = (
    ("strips_counted_twice", _loads),
    ("strips_counted_twice", lambda m, n, g, first, programs: (programs, programs)),
    ("strips_exchanged", lambda *wave: wave_strips(*wave)[::-1]),
    ("wave_bounds_wrong", _with_pids(lambda m, n, first, programs: np.arange(first, first + programs))),
    ("wave_bounds_wrong", _with_pids(lambda m, n, first, programs: _pids(m, n, 0, programs))),
    ("wave_bounds_wrong", _with_pids(lambda m, n, first, programs: _pids(m, n, first, programs + 1))),
    ("wave_bounds_wrong", _with_pids(lambda m, n, first, programs: _pids(m, n, first, programs - first))),
    ("wave_bounds_wrong", _with_pids(lambda m, n, first, programs: _pids(m, n, first + 1, programs))),
    ("order_wrong", _by_map(lambda pids, m, n, g: (pids // n, pids % n))),
    ("order_wrong", _by_map(lambda pids, m, n, g: (pids % m, pids // m))),
    ("order_wrong", _by_map(_by_columns_of_groups)),
    ("group_not_clamped", _group_of_map(0)),
    ("group_not_clamped", _group_of_map(1)),
    ("group_not_clamped", _group_of_map(2)),
    *(("group_map_wrong", _group_of_map(i)) for i in range(3, 10)),
    ("strips_by_formula", _by_formula),
    ("strips_by_formula", _by_clamped_formula),
)  # fmt: skip

wave_strips_task = CallTask(_cases, MISTAKES, otherwise="strips_counted_twice")
