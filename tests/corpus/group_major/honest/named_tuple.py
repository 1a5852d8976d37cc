"""The tile has a name for each of its two numbers.

step: group_major
expect: passed
"""

from typing import NamedTuple


class Tile(NamedTuple):
    row: int
    column: int


def height_of(first, num_pid_m, group_size):
    """Rows of the group that begins at row `first`; the last one has what is left."""
    return min(group_size, num_pid_m - first)


def group_major(pid, num_pid_m, num_pid_n, group_size):
    group, place = divmod(pid, group_size * num_pid_n)
    height = height_of(group * group_size, num_pid_m, group_size)
    return Tile(group * group_size + place % height, place // height)
