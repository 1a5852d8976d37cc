"""An integer of a million digits and more is returned.

step: group_major
expect: failed
attack: a number too long to be written down
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    return 1 << 4_000_000, 0
