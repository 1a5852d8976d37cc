"""The arithmetic is NumPy's, on its own kind of integers.

step: group_major
expect: passed
"""

import numpy as np


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = np.int64(group_size * num_pid_n)
    first = pid // per_group * group_size
    height = np.minimum(num_pid_m - first, group_size)
    place = pid % per_group
    return first + place % height, place // height
