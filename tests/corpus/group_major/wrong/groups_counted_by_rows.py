"""A group is given as many programs as it has rows times the rows of the grid.

step: group_major
expect: failed
cause: group_map_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_m
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    return first + place % height, place // height
