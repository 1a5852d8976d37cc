"""Numbers past the end of the grid are skipped one by one.

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
    seen = {"A": set(), "B": set()}
    for pid in range(first, first + programs):
        if pid >= num_pid_m * num_pid_n:
            continue
        m, n = group_major(pid, num_pid_m, num_pid_n, group_size)
        seen["A"].add(m)
        seen["B"].add(n)
    return len(seen["A"]), len(seen["B"])
