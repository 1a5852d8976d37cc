"""The numbers claim to be equal to everything.

step: causal_blocks
expect: failed
attack: values that compare equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def causal_blocks(first, block_m, Nq, Nk, block_n):
    return Pleasing(0), Pleasing(0)
