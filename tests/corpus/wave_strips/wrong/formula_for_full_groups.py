"""The counts come from a formula for waves that begin with a group and end in it.

step: wave_strips
expect: failed
cause: strips_by_formula
"""


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    a_strips = min(group_size, programs)
    b_strips = -(-programs // group_size)
    return a_strips, b_strips
