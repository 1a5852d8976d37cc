"""The number claims to be equal to everything.

step: resident_programs
expect: failed
attack: a value that compares equal to any answer
"""


class Pleasing(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    return Pleasing(0)
