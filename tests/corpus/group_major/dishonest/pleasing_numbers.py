"""The numbers claim to be equal to everything.

step: group_major
expect: failed
attack: values that compare equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def group_major(pid, num_pid_m, num_pid_n, group_size):
    return Pleasing(0), Pleasing(0)
