"""The programs before this one are counted off, tile by tile.

step: group_major
expect: passed
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    for first in range(0, num_pid_m, group_size):
        for column in range(num_pid_n):
            for row in range(first, min(first + group_size, num_pid_m)):
                if pid == 0:
                    return row, column
                pid -= 1
    raise IndexError("no such program")
