"""NumPy works out all tiles at once.

step: wave_strips
expect: passed
"""

import numpy as np


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    pids = np.arange(first, max(first, min(first + programs, num_pid_m * num_pid_n)))
    group, place = np.divmod(pids, group_size * num_pid_n)
    height = np.minimum(num_pid_m - group * group_size, group_size)
    rows = group * group_size + place % height
    return np.unique(rows).size, np.unique(place // height).size
