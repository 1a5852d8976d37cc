"""Step `group_major` of chapter 8: which tile a program computes, as plain Python.

Every program of a grid is asked, so that a map which is wrong for one program alone is found.
"""

from collections import Counter

import numpy as np

from autograder.steps.calls import CallCase, CallTask, calls_of


def _group_major(pid: int, num_pid_m: int, num_pid_n: int, group_size: int) -> tuple[int, int]:
    group, place = divmod(pid, group_size * num_pid_n)
    first = group * group_size
    height = min(num_pid_m - first, group_size)
    return first + place % height, place // height


def _case(name: str, tall: int, broad: int, group_size: int) -> CallCase:
    asked = [(pid, tall, broad, group_size) for pid in range(tall * broad)]
    size = {"num_pid_m": tall, "num_pid_n": broad, "group_size": group_size}
    calls = calls_of(_group_major, asked)
    return CallCase(name, size, calls, remark=lambda came: _shared_out(came, tall, broad))


def _shared_out(came: list[tuple[int, int]], tall: int, broad: int) -> str:
    """How the tiles of the grid are shared out among its programs."""
    programs = Counter(came)
    tiles = [(m, n) for m in range(tall) for n in range(broad)]
    outside = next((tile for tile in came if tile not in set(tiles)), None)
    if outside:
        return f"Tile {outside} lies outside the grid of {tall} by {broad} tiles."
    missing = next((tile for tile in tiles if tile not in programs), None)
    if missing:
        twice = next(tile for tile in came if programs[tile] > 1)
        return f"Tile {twice} has {programs[twice]} programs, and tile {missing} has none."
    return "Every tile has one program, but not the one asked for."


# The programs before the last group are odd in number, so that the remainder by its height of 2
# differs between a program's number and its place within the group.
TWO_LEFT = ((5, 3, 3), (5, 7, 3), (7, 3, 5), (7, 5, 5))


def _cases(rng: np.random.Generator) -> list[CallCase]:
    def draw(low, high):
        return int(rng.integers(low, high))

    # No grid is square: there, too many mistakes look alike.
    group = draw(3, 6)
    return [
        _case("whole groups", group * draw(2, 4), draw(2, 6), group),
        _case("short last group", group * 2 + draw(1, group), draw(2, 6), group),
        _case("group larger than the grid", group - 1, group + draw(0, 3), group),
        _case("groups of one row", group, group + draw(1, 4), 1),
        _case("two rows left over", *TWO_LEFT[draw(0, len(TWO_LEFT))]),
    ]


def _heights(remainder, divisor):
    """The map with other numbers of rows: `remainder(m, first, g)` for the row, `divisor` for the
    column.
    """

    def wrong(pid, m, n, g):
        first, place = pid // (g * n) * g, pid % (g * n)
        return first + place % remainder(m, first, g), place // divisor(m, first, g)

    return wrong


def _same_height(height):
    return _heights(height, height)


def _whole(m, first, g):
    return g


def _clamped(m, first, g):
    return min(m - first, g)


def _first_forgotten(pid, m, n, g):
    row, column = _group_major(pid, m, n, g)
    return row - pid // (g * n) * g, column


def _first_is_group(pid, m, n, g):
    first, place = pid // (g * n), pid % (g * n)
    height = min(m - first, g)
    return first + place % height, place // height


def _place_forgotten(pid, m, n, g):
    first = pid // (g * n) * g
    height = min(m - first, g)
    return first + pid % height, pid // height


def _groups_counted_by_rows(pid, m, n, g):
    first, place = pid // (g * m) * g, pid % (g * m)
    height = min(m - first, g)
    return first + place % height, place // height


def _groups_of_columns(pid, m, n, g):
    column, row = _group_major(pid, n, m, g)
    return row, column


def _row_by_number(pid, m, n, g):
    """An older form of the map, which begins a group in the middle of a column."""
    first, place = pid // (g * n) * g, pid % (g * n)
    height = min(m - first, g)
    return first + pid % height, place // height


def _floored(pid, m, n, g):
    group = min(pid // (g * n), m // g - 1)
    first, place = group * g, pid - group * g * n
    height = g if group < m // g - 1 else m - first
    return first + place % height, place // height


_MISTAKES = (
    ("group_not_clamped", _same_height(_whole)),
    ("group_not_clamped", _heights(_whole, _clamped)),
    ("group_not_clamped", _heights(_clamped, _whole)),
    # The rows left over stay in the group before: groups are counted by rounding down.
    ("group_not_clamped", _floored),
    ("grid_swapped", lambda *arguments: _group_major(*arguments)[::-1]),
    ("order_wrong", lambda pid, m, n, g: (pid // n, pid % n)),  # also columns first in a group
    ("order_wrong", lambda pid, m, n, g: (pid % m, pid // m)),
    ("order_wrong", _groups_of_columns),
    ("group_map_wrong", _first_forgotten),
    ("group_map_wrong", _first_is_group),
    ("group_map_wrong", _place_forgotten),
    ("group_map_wrong", _row_by_number),
    ("group_map_wrong", _groups_counted_by_rows),
    ("group_map_wrong", _same_height(lambda m, first, g: min(m - first - 1, g))),
    ("group_map_wrong", _same_height(lambda m, first, g: min(m - first + 1, g))),
    ("group_map_wrong", _same_height(lambda m, first, g: g if first + g < m else m % g)),
    ("group_map_wrong", _same_height(lambda m, first, g: min(m - first // g, g))),
)


group_major = CallTask(_cases, _MISTAKES, otherwise="group_map_wrong")
