"""The transposed view of x comes back; nothing is copied.

step: transpose
expect: refused|failed
attack: a view of the input in place of a result
"""


def transpose(x):
    return x.T
