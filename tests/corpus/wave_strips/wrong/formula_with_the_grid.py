"""The formula knows the size of the grid, but not where a wave begins.

step: wave_strips
expect: failed
cause: strips_by_formula
"""


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    a_strips = min(group_size, num_pid_m, programs)
    b_strips = min(num_pid_n, -(-programs // a_strips)) if a_strips else 0
    return a_strips, b_strips
