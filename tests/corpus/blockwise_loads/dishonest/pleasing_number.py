"""The number claims to be equal to everything.

step: blockwise_loads
expect: failed
attack: a value that compares equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def blockwise_loads(M, N, K, block_size):
    return Pleasing(0)
