"""The number claims to be equal to everything.

step: deepest_pipeline
expect: failed
attack: a value that compares equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def deepest_pipeline(block_m, block_n, block_k, itemsize, programs, sm):
    return Pleasing(0)
