"""The number claims to be equal to everything.

step: regret
expect: failed
attack: a value that compares equal to any answer
"""


class Pleasing(float):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = float.__hash__


def regret(times, kept):
    return Pleasing(0.0)
