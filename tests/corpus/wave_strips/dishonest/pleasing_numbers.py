"""The numbers claim to be equal to everything.

step: wave_strips
expect: failed
attack: values that compare equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    return Pleasing(0), Pleasing(0)
