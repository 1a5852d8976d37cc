"""The worked example is answered from a table, and nothing else.

step: wave_strips
expect: failed
attack: the worked example learnt by heart
"""

TABLE = {(9, 9, 1, 0, 9): (1, 9), (9, 9, 3, 0, 9): (3, 3)}


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    return TABLE.get((num_pid_m, num_pid_n, group_size, first, programs), (3, 3))
