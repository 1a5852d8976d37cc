"""A group larger than the grid is taken for no group at all.

step: group_major
expect: failed
cause: order_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    if group_size > num_pid_m:
        return pid // num_pid_n, pid % num_pid_n
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    return first + place % height, place // height
