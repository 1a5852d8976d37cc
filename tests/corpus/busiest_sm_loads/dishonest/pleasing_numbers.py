"""The number claims to be equal to everything.

step: busiest_sm_loads
expect: failed
attack: a value that compares equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def busiest_sm_loads(M, N, block_m, block_n, sms):
    return Pleasing(0)
