"""The numbers claim to be equal to everything.

step: layout_owner
expect: failed
attack: values that compare equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def layout_owner(row, col, layout):
    return Pleasing(0), Pleasing(0)
