"""The row is searched for in a loop that never ends.

step: group_major
expect: timed_out
attack: an endless loop
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    row = 0
    while row * num_pid_n <= pid:
        row = row % num_pid_m
    return row, 0
