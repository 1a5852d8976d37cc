"""`programs` is taken for the number after the last program.

step: wave_strips
expect: failed
cause: wave_bounds_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    per_group = group_size * num_pid_n
    first = pid // per_group * group_size
    height = min(num_pid_m - first, group_size)
    place = pid % per_group
    return first + place % height, place // height


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    end = min(programs, num_pid_m * num_pid_n)
    tiles = [group_major(pid, num_pid_m, num_pid_n, group_size) for pid in range(first, end)]
    return len({m for m, n in tiles}), len({n for m, n in tiles})
