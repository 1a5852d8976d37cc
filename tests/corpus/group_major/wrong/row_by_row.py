"""The programs are numbered row after row; groups are forgotten.

step: group_major
expect: failed
cause: order_wrong
"""


def group_major(pid, num_pid_m, num_pid_n, group_size):
    return pid // num_pid_n, pid % num_pid_n
