"""The height of the last group is the remainder, which is 0 where groups are whole.

step: group_major
expect: error
cause: group_map_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = group_size if first + group_size < num_pid_m else num_pid_m % group_size
    place = pid % per_group
    return first + place % height, place // height
