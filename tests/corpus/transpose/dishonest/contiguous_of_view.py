"""x.t().contiguous() does the whole step.

step: transpose
expect: refused
attack: library copy in place of a kernel
"""


def transpose(x):
    return x.t().contiguous()
