"""A counter that is kept from call to call stands for the program's number.

step: group_major
expect: failed
cause: group_map_wrong
"""

from itertools import count

counter = count()


def group_major(pid, num_pid_m, num_pid_n, group_size):
    pid = next(counter) // 2
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    return first + place % height, place // height
