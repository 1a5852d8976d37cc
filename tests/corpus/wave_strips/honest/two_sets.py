"""Rows and columns are collected in two sets.

step: wave_strips
expect: passed
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    return first + place % height, place // height


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    end = min(first + programs, num_pid_m * num_pid_n)
    rows, columns = set(), set()
    for pid in range(first, end):
        m, n = group_major(pid, num_pid_m, num_pid_n, group_size)
        rows.add(m)
        columns.add(n)
    return len(rows), len(columns)
