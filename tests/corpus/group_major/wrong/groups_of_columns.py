"""Groups are made of columns of tiles, not of rows.

step: group_major
expect: failed
cause: order_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_m
    first = pid // per_group * group_size
    width = min(num_pid_n - first, group_size)
    place = pid % per_group
    return place // width, first + place % width
