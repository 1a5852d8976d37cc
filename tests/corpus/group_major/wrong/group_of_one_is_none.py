"""A group of one row is taken for no group, numbered column after column.

step: group_major
expect: failed
cause: order_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    if group_size == 1:
        return pid % num_pid_m, pid // num_pid_m
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    return first + place % height, place // height
