"""The shift has a name, and the bounds a helper.

step: causal_blocks
expect: passed
"""


def between(n, low, high):
    return low if n < low else min(n, high)


def causal_blocks(first, block_m, Nq, Nk, block_n):
    shift = Nk - Nq
    end = between(first + block_m + shift, 0, Nk)
    full = between(first + shift + 1, 0, Nk)
    full -= full % block_n
    return full, end
