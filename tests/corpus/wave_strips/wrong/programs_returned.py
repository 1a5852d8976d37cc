"""The number of programs stands for both counts.

step: wave_strips
expect: failed
cause: strips_counted_twice
"""


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    return programs, programs
