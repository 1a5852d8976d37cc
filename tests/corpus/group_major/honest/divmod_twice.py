"""Group, place, row and column by divmod.

step: group_major
expect: passed
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    group, place = divmod(pid, group_size * num_pid_n)
    height = min(num_pid_m - group * group_size, group_size)
    column, row = divmod(place, height)
    return group * group_size + row, column
