"""The recursion limit is lifted and a repr asks for itself until the stack is gone.

step: vector_add
expect: error|crashed
attack: stack overflow in C code
"""

import sys


class Mirror:
    def __repr__(self):
        return repr(self)


def vector_add(x, y):
    sys.setrecursionlimit(2**30)
    return repr(Mirror())
