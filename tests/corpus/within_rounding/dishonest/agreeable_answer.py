"""The verdict claims to be equal to both.

step: within_rounding
expect: failed|error
attack: a value that compares equal to any answer
"""

class Agreeable(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def within_rounding(c, a, b):
    return Agreeable(1)
