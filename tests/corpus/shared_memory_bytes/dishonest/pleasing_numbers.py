"""The number claims to be equal to everything.

step: shared_memory_bytes
expect: failed
attack: a value that compares equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    return Pleasing(0)
