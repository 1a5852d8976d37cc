"""The row is the remainder of the program's number, not of its place within the group.

step: group_major
expect: failed
cause: group_map_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    return first + pid % height, place // height
