"""A list that holds itself is returned, wide and deep.

step: group_major
expect: failed|timed_out|crashed
attack: a value without an end
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    tile = [0] * 5
    tile[1:] = [tile] * 4
    return tile
