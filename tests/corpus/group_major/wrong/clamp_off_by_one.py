"""One row too few is left for the last group.

step: group_major
expect: failed|error
cause: group_map_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first - 1, group_size)
    place = pid % per_group
    return first + place % height, place // height
