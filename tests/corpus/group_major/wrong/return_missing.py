"""The tile is worked out and not returned.

step: group_major
expect: failed
cause: wrong_type
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    tile = first + place % height, place // height
