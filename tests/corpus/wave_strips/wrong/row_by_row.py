"""The programs are numbered row by row, in groups or not.

step: wave_strips
expect: failed
cause: order_wrong
"""


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    end = min(first + programs, num_pid_m * num_pid_n)
    pids = range(first, end)
    return len({pid // num_pid_n for pid in pids}), len({pid % num_pid_n for pid in pids})
