"""x + y by torch.

step: vector_add
expect: refused
attack: library addition in place of a kernel
"""


def vector_add(x, y):
    return x + y
