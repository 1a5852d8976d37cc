"""The number of groups is rounded down, and the last one takes the rows left over.

step: group_major
expect: failed|error
cause: group_not_clamped
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    groups = num_pid_m // group_size
    per_group = group_size * num_pid_n
    group = min(pid // per_group, groups - 1)
    first = group * group_size
    height = group_size if group < groups - 1 else num_pid_m - first
    place = pid - group * per_group
    return first + place % height, place // height
