"""The cells' own tests are answered from a table, and nothing else.

step: group_major
expect: failed|error
attack: the worked example learnt by heart
"""

TABLE = {(p, 3, 3, 2): (m, n) for p, (m, n) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)])}


def group_major(pid, num_pid_m, num_pid_n, group_size):
    return TABLE.get((pid, num_pid_m, num_pid_n, group_size), (0, 0))
